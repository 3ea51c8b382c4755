#include "device/vkfd/model_clock.hpp"

#include <span>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/vkfd/process_testing.hpp"

namespace cortado::device::vkfd {
namespace model_clock_test {

constexpr std::uint64_t kTick = 10;  // nanoseconds
constexpr std::uint32_t kMiB = 1 << 20;

VirtualKfdOptions modelled() {
  VirtualKfdOptions options;
  options.model_time = true;
  return options;
}

sdma::Timestamp stamp_at(const TestProcess::Block& block, std::uint64_t slot) {
  return {sdma::TimestampOp::get_global, block.va + slot * 32};
}
std::uint64_t stamp(const TestProcess::Block& block, std::uint64_t slot) {
  return block.load(slot * 4);
}

/// Nanoseconds between the time stamps around the packets, on engine 14 of GPU 0.
std::uint64_t time_of(TestProcess& process, const std::vector<sdma::Packet>& packets) {
  const auto stamps = process.allocate_mapped(4096);
  auto queue = process.make_queue(0, 14);
  std::vector<sdma::Packet> all{stamp_at(stamps, 0)};
  all.insert(all.end(), packets.begin(), packets.end());
  all.push_back(stamp_at(stamps, 1));
  TestProcess::submit(queue, all);
  EXPECT_TRUE(TestProcess::wait_until([&] { return TestProcess::finished(queue); }));
  EXPECT_EQ(process.destroy(queue), 0);
  return (stamp(stamps, 1) - stamp(stamps, 0)) * kTick;
}

TEST(ModelClock, ACopyTakesItsStartAndItsBytesAtTheRateOfTheModel) {
  TestProcess process("mi300x-8", modelled());
  const Timing& timing = *process.driver().machine().timing;
  const auto from = process.allocate_mapped(16 * kMiB, 0);
  const auto to = process.allocate_mapped(16 * kMiB, 1);
  // 1 MiB fits the last-level cache: the engine's rate, or that of the link.
  const double rate = std::min(timing.engine.rate.value, timing.link.rate.value);
  for (const std::uint32_t bytes : {kMiB, 4 * kMiB, 16 * kMiB}) {
    const double expected = static_cast<double>(timing.engine.copy_start.value) + bytes / rate;
    EXPECT_NEAR(static_cast<double>(time_of(process, {sdma::CopyLinear{bytes, from.va, to.va}})), expected,
                0.02 * expected)
        << bytes;
  }
}

TEST(ModelClock, PiecesOfACopyOverlapAsInTheSimulator) {
  TestProcess process("mi300x-8", modelled());
  const auto from = process.allocate_mapped(4 * kMiB, 0);
  const auto to = process.allocate_mapped(4 * kMiB, 1);
  std::vector<sdma::Packet> pieces;
  for (std::uint32_t i = 0; i < 4; ++i) {
    pieces.push_back(sdma::CopyLinear{kMiB, from.va + i * kMiB, to.va + i * kMiB});
  }
  const std::uint64_t whole = time_of(process, {sdma::CopyLinear{4 * kMiB, from.va, to.va}});
  const auto four = static_cast<double>(time_of(process, pieces));
  EXPECT_NEAR(four, static_cast<double>(whole), 0.02 * four);  // and not four starts
}

TEST(ModelClock, SignalsTakeTheirTimeAndPollsOfOtherEnginesSeeThemInModelledTime) {
  TestProcess process("mi300x-8", modelled());
  const EngineTiming& timing = process.driver().machine().timing->engine;
  const auto words = process.allocate_mapped(4096);
  const auto from = process.allocate_mapped(16 * kMiB, 0);
  const auto to = process.allocate_mapped(16 * kMiB, 1);
  auto first = process.make_queue(0, 14);
  auto second = process.make_queue(1, 3);
  TestProcess::submit(second, {sdma::Fence{words.va + 2048, 1}, sdma::PollRegmem{.address = words.va, .reference = 1},
                               stamp_at(words, 4)});
  ASSERT_TRUE(TestProcess::wait_until([&] { return words.load(256) == 1; }));
  TestProcess::submit(first, {stamp_at(words, 1), sdma::CopyLinear{16 * kMiB, from.va, to.va}, stamp_at(words, 2),
                              sdma::Fence{words.va, 1}, stamp_at(words, 3)});
  ASSERT_TRUE(TestProcess::wait_until([&] { return TestProcess::finished(first) && TestProcess::finished(second); }));
  const auto ticks = [](Nanoseconds time) { return static_cast<std::uint64_t>(time.value) / kTick; };
  EXPECT_NEAR(static_cast<double>(stamp(words, 3) - stamp(words, 2)), static_cast<double>(ticks(timing.sync)), 1);
  // However long the bytes took on this computer.
  EXPECT_NEAR(static_cast<double>(stamp(words, 4) - stamp(words, 3)), static_cast<double>(ticks(timing.wake)), 1);
}

// A naive virtual clock breaks programs that compare ticks with their own clock (AMD-DMA-Latte, ROCr): the counter of
// the GPU advances at 100 MHz whatever was copied, and no stamp is ahead of it.
TEST(ModelClock, TheCounterOfTheGpuKeepsToTheClockOfTheComputer) {
  TestProcess process("mi300x-8", modelled());
  const auto counters = [&] {
    kfd::ClockCounters now;
    now.gpu_id = gpu_id(0);
    EXPECT_EQ(process.call(kfd::Call::get_clock_counters, now), 0);
    return now;
  };
  const auto stamps = process.allocate_mapped(4096);
  const auto memory = process.allocate_mapped(2 * kMiB);
  auto queue = process.make_queue(0, 14);
  for (int i = 0; i < 20; ++i) {
    const auto before = counters();
    TestProcess::submit(queue, {sdma::CopyLinear{kMiB, memory.va, memory.va + kMiB}, stamp_at(stamps, 0)});
    ASSERT_TRUE(TestProcess::wait_until([&] { return TestProcess::finished(queue); }));
    const auto after = counters();
    EXPECT_GE(stamp(stamps, 0), before.gpu);
    EXPECT_LE(stamp(stamps, 0), after.gpu);
    EXPECT_LE(after.gpu - before.gpu, (after.system - before.system) / kTick + 1);
    EXPECT_GE(after.gpu - before.gpu + 1, (after.system - before.system) / kTick);
  }
}

TEST(ModelClock, ASlowEngineIsSoManyTimesAsSlow) {
  TestProcess plain("mi300x-8", modelled());
  VirtualKfdOptions options = modelled();
  options.faults.slow_engines.push_back({RankId{0}, EngineId{14}, 3});
  TestProcess slow("mi300x-8", std::move(options));
  std::uint64_t times[2] = {};
  for (TestProcess* process : {&plain, &slow}) {
    const auto from = process->allocate_mapped(kMiB, 0);
    const auto to = process->allocate_mapped(kMiB, 1);
    times[process == &slow] = time_of(*process, {sdma::CopyLinear{kMiB, from.va, to.va}});
  }
  EXPECT_NEAR(static_cast<double>(times[1]), 3 * static_cast<double>(times[0]), 60);
}

MoveList copy_list(std::uint32_t engine, std::uint64_t begin, std::uint32_t from, std::uint32_t to) {
  return {0, engine, begin, {{Move::Kind::copy, {from, 0}, {to, 0}, {0, 0}, 16 * kMiB}}};
}

TEST(CopyTimes, ListsThatShareNothingTakeWhatTheyTakeAlone) {
  const CopyTimes times(load_machine("mi300x-8").value());
  const MoveList one = copy_list(14, 1000, 0, 1);
  const MoveList two = copy_list(2, 3000, 0, 2);
  const MoveList* const all[] = {&one, &two};
  const auto both = times.of(all);
  const auto alone = times.of(std::span(all).first(1));
  EXPECT_EQ(both[0][0].begin, 1000U);
  EXPECT_EQ(both[0][0].end, alone[0][0].end);
  EXPECT_EQ(both[1][0].begin, 3000U);
}

TEST(CopyTimes, MemoriesThatTheMachineDoesNotDescribeTakeSomeTime) {
  const CopyTimes times(load_machine("mi250x-8").value());
  // Host memory, and GPUs 0 and 3, which no link joins.
  for (const auto& [from, to] : {std::pair{kHostMemory, 0U}, std::pair{0U, 3U}}) {
    const MoveList list = copy_list(0, 0, from, to);
    const MoveList* const all[] = {&list};
    EXPECT_GT(times.of(all)[0][0].end, 0U);
  }
}

/// Nanoseconds that copies of 16 MiB from GPU 0 take by engines that a signal releases at the same time.
std::vector<std::uint64_t> times_of(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& engine_and_peer) {
  TestProcess process("mi300x-8", modelled());
  const auto words = process.allocate_mapped(4096);
  const auto stamps = process.allocate_mapped(4096);
  const auto from = process.allocate_mapped(16 * kMiB, 0);
  std::vector<TestProcess::Queue> queues;
  for (std::size_t i = 0; i < engine_and_peer.size(); ++i) {
    const auto& [engine, peer] = engine_and_peer[i];
    const auto to = process.allocate_mapped(16 * kMiB, peer);
    queues.push_back(process.make_queue(0, engine));
    TestProcess::submit(queues.back(), {sdma::Fence{words.va + 64 * (i + 1), 1},
                                        sdma::PollRegmem{.address = words.va, .reference = 1}, stamp_at(stamps, 2 * i),
                                        sdma::CopyLinear{16 * kMiB, from.va, to.va}, stamp_at(stamps, 2 * i + 1)});
  }
  for (std::size_t i = 0; i < queues.size(); ++i) {
    EXPECT_TRUE(TestProcess::wait_until([&] { return words.load(8 * (i + 1)) == 1; }));
  }
  auto first = process.make_queue(7, 3);
  TestProcess::submit(first, {sdma::Fence{words.va, 1}, sdma::Nop{}});
  std::vector<std::uint64_t> times;
  for (std::size_t i = 0; i < queues.size(); ++i) {
    EXPECT_TRUE(TestProcess::wait_until([&] { return TestProcess::finished(queues[i]); }));
    times.push_back((stamp(stamps, 2 * i + 1) - stamp(stamps, 2 * i)) * kTick);
  }
  return times;
}

// On one link, two engines get half of it each; each has the same bytes to move, so both take twice as long except for
// their start-up, which is not shared. On separate links they do not affect each other.
TEST(ModelClock, EnginesShareALink) {
  const std::uint64_t alone = times_of({{14, 1}})[0];
  const auto apart = times_of({{14, 1}, {2, 2}});
  const auto together = times_of({{14, 1}, {2, 1}});
  const Machine machine = load_machine("mi300x-8").value();
  const Timing& timing = *machine.timing;
  const auto start = static_cast<double>(timing.engine.copy_start.value);
  for (const std::uint64_t time : apart) {
    EXPECT_NEAR(static_cast<double>(time), static_cast<double>(alone), 0.02 * static_cast<double>(alone));
  }
  const double both = start + 2 * 16 * kMiB / timing.link.rate.value;
  for (const std::uint64_t time : together) EXPECT_NEAR(static_cast<double>(time), both, 0.02 * both);
}

// A stuck queue does not hold up others: a stalled engine, a lost doorbell, a packet that faults.
TEST(ModelClock, QueuesThatAreStuckDoNotHoldOthersUp) {
  VirtualKfdOptions options = modelled();
  options.faults.stalled_engines.push_back({RankId{0}, EngineId{2}, 1});
  options.faults.dropped_doorbells.push_back({RankId{0}, EngineId{4}, 0});
  TestProcess process("mi300x-8", std::move(options));
  const auto memory = process.allocate_mapped(2 * kMiB);
  const sdma::CopyLinear copy{kMiB, memory.va, memory.va + kMiB};
  auto stalled = process.make_queue(0, 2);
  auto unheard = process.make_queue(0, 4);
  auto stopped = process.make_queue(0, 6);
  TestProcess::submit(stalled, {copy, copy, sdma::Nop{}});
  TestProcess::submit(unheard, {copy, sdma::Nop{}});
  TestProcess::submit(stopped, {sdma::CopyLinear{64, memory.va, 0x700000001000}, sdma::Nop{}});
  EXPECT_GT(time_of(process, {copy}), 0U);
  EXPECT_FALSE(TestProcess::finished(stalled) || TestProcess::finished(unheard) || TestProcess::finished(stopped));
}

}  // namespace model_clock_test
}  // namespace cortado::device::vkfd
