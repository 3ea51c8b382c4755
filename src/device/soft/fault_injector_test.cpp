// Injected faults, as the injector decides them and as queues experience them.
#include "device/soft/fault_injector.hpp"

#include <optional>

#include <gtest/gtest.h>

#include "device/soft/testing/node.hpp"

namespace cortado::device::soft {
namespace fault_injector_test {

using testing::HasSubstr;

TEST(EngineInjection, EntriesStrikeOnceAtTheirCountOnTheirEngine) {
  FaultInjection faults;
  faults.dropped_doorbells = {{RankId{1}, EngineId{2}, 3}};
  faults.lost_signals = {{RankId{1}, EngineId{2}, 0}};
  faults.delayed_signals = {{RankId{1}, EngineId{2}, 1, 500}};
  EXPECT_TRUE(EngineInjection(faults, RankId{1}, EngineId{3}).empty());
  EXPECT_TRUE(EngineInjection(faults, RankId{2}, EngineId{2}).empty());
  EngineInjection injection(faults, RankId{1}, EngineId{2});
  EXPECT_FALSE(injection.empty());
  EXPECT_FALSE(injection.drops_doorbell(2));
  EXPECT_TRUE(injection.drops_doorbell(3));
  EXPECT_FALSE(injection.drops_doorbell(3)) << "of another queue";
  EXPECT_TRUE(injection.loses_signal(0));
  EXPECT_FALSE(injection.loses_signal(0));
  EXPECT_EQ(injection.delays_signal(1), 500u);
  EXPECT_EQ(injection.delays_signal(1), 0u);
}

TEST(EngineInjection, AStallHoldsAllQueuesUntilTheOneThatMetItIsGone) {
  FaultInjection faults;
  faults.stalled_engines = {{RankId{0}, EngineId{0}, 2}};
  EngineInjection injection(faults, RankId{0}, EngineId{0});
  EXPECT_FALSE(injection.stalls(7, 1));
  EXPECT_TRUE(injection.stalls(7, 2));
  EXPECT_TRUE(injection.stalls(8, 0));
  injection.queue_destroyed(8);
  EXPECT_TRUE(injection.stalls(8, 0));
  injection.queue_destroyed(7);
  EXPECT_FALSE(injection.stalls(8, 0));
  EXPECT_FALSE(injection.stalls(9, 2));
}

class InjectedFaults : public testing::TestWithParam<std::optional<std::uint64_t>> {
 protected:
  void open(const FaultInjection& faults) { node_ = open_test_node({0, GetParam(), faults}); }
  void assist_a_while() {
    for (int i = 0; i < 2000; ++i) node_->assist();
  }
  std::unique_ptr<Driver> node_;
  static constexpr RankId kGpu{1};
  static constexpr EngineId kEngine{2};
};

INSTANTIATE_TEST_SUITE_P(Orders, InjectedFaults, testing::Values(std::nullopt, 1, 2), [](const auto& test) {
  return test.param ? "Seed" + std::to_string(*test.param) : std::string("Plain");
});

TEST_P(InjectedFaults, StalledEngineStopsFetchingAndIsResetByDestroy) {
  FaultInjection faults;
  faults.stalled_engines = {{kGpu, kEngine, 2}};
  open(faults);
  TestBuffer words(*node_, 64);
  TestQueue stuck(*node_, kGpu, kEngine);
  for (int i = 0; i < 4; ++i) stuck.push(add64(words.at()));
  stuck.ring();
  assist_a_while();
  EXPECT_EQ(read_word(words.word(0)), 2u);
  EXPECT_EQ(stuck.state().read_offset, 64u);  // two ATOMICs of 32 bytes
  EXPECT_EQ(stuck.state().write_offset, 128u);
  EXPECT_THAT(stuck.state().doing, HasSubstr("not fetching"));

  TestQueue neighbour(*node_, kGpu, kEngine);
  neighbour.push(add64(words.at(8)));
  neighbour.ring();
  TestQueue elsewhere(*node_, kGpu, EngineId{3});
  elsewhere.push(add64(words.at(16)));
  elsewhere.ring();
  ASSERT_TRUE(assist_until(*node_, [&] { return elsewhere.finished(); }));
  assist_a_while();
  EXPECT_EQ(read_word(words.word(1)), 0u) << "a queue of the same engine is stuck, too";

  stuck.destroy();
  ASSERT_TRUE(assist_until(*node_, [&] { return neighbour.finished(); }));
  EXPECT_EQ(read_word(words.word(0)), 2u);
  EXPECT_EQ(read_word(words.word(1)), 1u);
}

TEST_P(InjectedFaults, DroppedDoorbellIsHealedByTheNextOne) {
  FaultInjection faults;
  faults.dropped_doorbells = {{kGpu, kEngine, 1}};
  open(faults);
  TestBuffer words(*node_, 64);
  TestQueue queue(*node_, kGpu, kEngine);
  queue.push(add64(words.at()));
  queue.ring();
  ASSERT_TRUE(assist_until(*node_, [&] { return queue.finished(); }));
  queue.push(add64(words.at()));
  queue.ring();  // lost
  assist_a_while();
  EXPECT_EQ(read_word(words.word(0)), 1u);
  EXPECT_EQ(read_word(queue.handle().write_pointer), 64u);
  EXPECT_EQ(queue.state().write_offset, 32u);
  EXPECT_EQ(queue.state().doing, "idle");
  queue.push(add64(words.at()));
  queue.ring();
  ASSERT_TRUE(assist_until(*node_, [&] { return queue.finished(); }));
  EXPECT_EQ(read_word(words.word(0)), 3u);
}

TEST_P(InjectedFaults, LostSignalWritesNothingAndTheQueueGoesOn) {
  FaultInjection faults;
  faults.lost_signals = {{kGpu, kEngine, 1}, {kGpu, kEngine, 2}};
  open(faults);
  TestBuffer words(*node_, 64);
  TestQueue queue(*node_, kGpu, kEngine);
  queue.push(add64(words.at(0))).push(add64(words.at(8))).push(sdma::Fence{words.at(16), 1}).push(add64(words.at(24)));
  queue.ring();
  ASSERT_TRUE(assist_until(*node_, [&] { return queue.finished(); }));
  EXPECT_EQ(*words.word(0), 1u);
  EXPECT_EQ(*words.word(1), 0u);
  EXPECT_EQ(*words.word(2), 0u);
  EXPECT_EQ(*words.word(3), 1u);
}

TEST_P(InjectedFaults, DelayedSignalComesAndNotBeforeItsTime) {
  // In adversarial mode a step counts as a microsecond, so the delay is 3000 steps there.
  FaultInjection faults;
  faults.delayed_signals = {{kGpu, kEngine, 0, 3'000'000}};
  open(faults);
  TestBuffer words(*node_, 64);
  TestQueue queue(*node_, kGpu, kEngine);
  queue.push(add64(words.at())).push(add64(words.at(8)));
  const std::uint64_t start = node_->clock().now;
  queue.ring();
  std::uint64_t steps = 0;
  bool seen_delaying = false;
  while (read_word(words.word(0)) == 0) {
    seen_delaying |= queue.state().doing.find("delaying a signal") != std::string::npos;
    EXPECT_EQ(read_word(words.word(1)), 0u);
    node_->assist();
    ++steps;
  }
  EXPECT_TRUE(seen_delaying);
  if (GetParam()) {
    EXPECT_GE(steps, 3000u);
  } else {
    EXPECT_GE(node_->clock().now - start, 3'000'000u);
  }
  ASSERT_TRUE(assist_until(*node_, [&] { return queue.finished(); }));
  EXPECT_EQ(*words.word(0), 1u);
  EXPECT_EQ(*words.word(1), 1u);
}

}  // namespace fault_injector_test
}  // namespace cortado::device::soft
