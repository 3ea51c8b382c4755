// The adversarial mode: reaches every order that engines are allowed to take, and none that they are not.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "device/soft/testing/node.hpp"

namespace cortado::device::soft {
namespace adversarial_test {

constexpr std::uint64_t kBytes = 512;
constexpr std::uint64_t kSeeds = 40;

SoftOptions adversarial(std::uint64_t seed) {
  SoftOptions options;
  options.adversarial_seed = seed;
  return options;
}

/// Buffers a, b, c (a filled with a pattern, the others zero) and signal words on a fresh node.
struct Scene {
  explicit Scene(std::uint64_t seed)
      : node(open_test_node(adversarial(seed))),
        a(*node, kBytes),
        b(*node, kBytes),
        c(*node, kBytes),
        words(*node, 256) {
    a.fill_pattern(1);
  }
  bool same(const TestBuffer& x, const TestBuffer& y) const { return std::memcmp(x.data(), y.data(), kBytes) == 0; }
  sdma::CopyLinear copy(const TestBuffer& from, const TestBuffer& to) const { return {kBytes, from.at(), to.at()}; }

  std::unique_ptr<Driver> node;
  TestBuffer a, b, c, words;
};

/// Over all seeds: how often c is a copy of a at the end.
template <class Build>
std::uint64_t right_results(Build&& build) {
  std::uint64_t right = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Scene scene(seed);
    TestQueue first(*scene.node, RankId{0}, EngineId{1});
    TestQueue second(*scene.node, RankId{1}, EngineId{1});
    build(scene, first, second);
    first.ring();
    second.ring();
    EXPECT_TRUE(assist_until(*scene.node, [&] { return first.finished() && second.finished(); }));
    if (scene.same(scene.a, scene.c)) ++right;
  }
  return right;
}

TEST(Adversarial, DependentQueuesWithoutAWaitAreCaught) {
  const std::uint64_t right = right_results([](Scene& s, TestQueue& first, TestQueue& second) {
    first.push(s.copy(s.a, s.b)).push(add64(s.words.at()));
    second.push(s.copy(s.b, s.c));
  });
  EXPECT_LT(right, kSeeds);
  EXPECT_GT(right, 0u) << "the lucky order is reached as well";
}

TEST(Adversarial, DependentQueuesWithTheWaitAreAlwaysRight) {
  EXPECT_EQ(right_results([](Scene& s, TestQueue& first, TestQueue& second) {
              first.push(s.copy(s.a, s.b)).push(add64(s.words.at()));
              second.push(poll_ge(s.words.at(), 1)).push(s.copy(s.b, s.c));
            }),
            kSeeds);
}

TEST(Adversarial, DependentCopiesOfOneQueueOverlap) {
  const std::uint64_t right = right_results(
      [](Scene& s, TestQueue& first, TestQueue&) { first.push(s.copy(s.a, s.b)).push(s.copy(s.b, s.c)); });
  EXPECT_LT(right, kSeeds);
}

TEST(Adversarial, PacketsThatDrainSeparateDependentCopies) {
  for (int kind = 0; kind < 5; ++kind) {
    EXPECT_EQ(right_results([&](Scene& s, TestQueue& first, TestQueue&) {
                const sdma::Packet between[] = {sdma::Nop{}, sdma::Fence{s.words.at(), 1}, add64(s.words.at()),
                                                sdma::Timestamp{sdma::TimestampOp::get_global, s.words.at(32)},
                                                sdma::Trap{1}};
                first.push(s.copy(s.a, s.b)).push(between[kind]).push(s.copy(s.b, s.c));
              }),
              kSeeds)
        << "kind " << kind;
  }
}

TEST(Adversarial, PollDoesNotDrainEarlierCopies) {
  const std::uint64_t right = right_results([](Scene& s, TestQueue& first, TestQueue&) {
    add_to(s.words.word(0), 1);
    first.push(s.copy(s.a, s.b)).push(poll_ge(s.words.at(), 1)).push(s.copy(s.b, s.c));
  });
  EXPECT_LT(right, kSeeds);
}

TEST(Adversarial, LaterCopiesMayFinishFirstButTheSignalIsLast) {
  bool later_first = false;
  bool earlier_first = false;
  bool torn_from_behind = false;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Scene scene(seed);
    TestQueue queue(*scene.node, RankId{0}, EngineId{1});
    queue.push(scene.copy(scene.a, scene.b)).push(scene.copy(scene.a, scene.c)).push(add64(scene.words.at()));
    const std::uint64_t first_end = 28;  // a COPY takes 7 dwords
    queue.ring();
    while (!queue.finished()) {
      scene.node->assist();
      const bool b = scene.same(scene.a, scene.b);
      const bool c = scene.same(scene.a, scene.c);
      later_first |= c && !b;
      earlier_first |= b && !c;
      torn_from_behind |= scene.b.data()[kBytes - 1] != std::byte{0} && scene.b.data()[0] == std::byte{0};
      ASSERT_TRUE(read_word(scene.words.word(0)) == 0 || (b && c)) << "seed " << seed;
      ASSERT_TRUE(queue.read_offset() < first_end || b) << "the read pointer passes finished packets only";
    }
  }
  EXPECT_TRUE(later_first);
  EXPECT_TRUE(earlier_first);
  EXPECT_TRUE(torn_from_behind);
}

/// What is visible from outside after every step of a program of four queues.
std::vector<std::uint64_t> trace(std::uint64_t seed) {
  Scene scene(seed);
  std::vector<std::unique_ptr<TestQueue>> queues;
  for (std::uint32_t i = 0; i < 4; ++i) {
    queues.push_back(std::make_unique<TestQueue>(*scene.node, RankId{i}, EngineId{2}));
    if (i > 0) queues.back()->push(poll_ge(scene.words.at(8 * (i - 1)), 1));
    queues.back()->push(scene.copy(scene.a, i % 2 == 0 ? scene.b : scene.c)).push(add64(scene.words.at(8 * i)));
    queues.back()->ring();
  }
  std::vector<std::uint64_t> seen;
  while (!queues.back()->finished() && seen.size() < 100'000) {
    scene.node->assist();
    for (const auto& queue : queues) seen.push_back(queue->read_offset());
    std::uint64_t hash = 0;
    for (std::uint64_t i = 0; i < kBytes; ++i) {
      hash =
          hash * 31 + static_cast<std::uint64_t>(scene.b.data()[i]) * 7 + static_cast<std::uint64_t>(scene.c.data()[i]);
    }
    seen.push_back(hash);
  }
  EXPECT_TRUE(queues.back()->finished());
  return seen;
}

TEST(Adversarial, ASeedRepeatsStepByStepAndSeedsDiffer) {
  EXPECT_EQ(trace(5), trace(5));
  EXPECT_EQ(trace(6), trace(6));
  EXPECT_NE(trace(5), trace(6));
}

TEST(Adversarial, PolledWordsAndDoorbellsAreNoticedLateAtTimes) {
  // Number of steps until a queue notices, over the seeds: it must vary.
  std::uint64_t shortest = UINT64_MAX;
  std::uint64_t longest = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Scene scene(seed);
    TestQueue queue(*scene.node, RankId{0}, EngineId{1});
    add_to(scene.words.word(0), 1);
    queue.push(poll_ge(scene.words.at(), 1));
    queue.ring();
    std::uint64_t steps = 0;
    for (; !queue.finished(); ++steps) scene.node->assist();
    shortest = std::min(shortest, steps);
    longest = std::max(longest, steps);
  }
  EXPECT_EQ(shortest, 3u) << "notice the doorbell, fetch, execute";
  EXPECT_GT(longest, 6u);
}

TEST(Adversarial, ReleasedMemoryOfACopyUnderWayIsAFault) {
  Scene scene(3);
  const Memory gone = *scene.node->allocate({RankId{0}, {1 << 20}, {4096}});
  TestQueue queue(*scene.node, RankId{0}, EngineId{1});
  queue.push(sdma::CopyLinear{1 << 20, gone.address(), gone.address()});
  for (int i = 0; i < 3; ++i) queue.push(sdma::CopyLinear{1 << 19, gone.address(), gone.address() + (1 << 19)});
  queue.ring();
  while (!std::string_view(queue.state().doing).starts_with("copies in flight")) scene.node->assist();
  scene.node->release(gone);
  ASSERT_TRUE(assist_until(*scene.node, [&] { return !scene.node->faults().empty(); }));
  EXPECT_EQ(scene.node->faults().front().kind, FaultKind::bad_address);
}

}  // namespace adversarial_test
}  // namespace cortado::device::soft
