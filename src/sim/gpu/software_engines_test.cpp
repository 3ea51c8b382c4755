// Engines in software: queues that take turns on threads (engine_timing.threads), and one memory behind all GPUs.
#include <gtest/gtest.h>

#include "cortado/plan.hpp"

#include "sim/gpu/simulate.hpp"

namespace cortado::sim {
namespace software_engines_test {

/// virtual-64 with its round numbers (packet 50, submit 500, trigger 100, poll 20, fetch, wake, copy_start and sync
/// 1000 ns, 50 GB/s) on threads.
Machine node(std::uint32_t threads, std::vector<NodeLevel> levels = {}) {
  Machine machine = load_machine("virtual-64").value();
  machine.timing->engine.threads = threads;
  machine.timing->engine.copies_in_flight = 1;
  machine.timing->memory.node = std::move(levels);
  return machine;
}

std::vector<Nanoseconds> times(const CollectiveRequest& request, const Machine& machine, std::uint32_t iterations = 1) {
  auto program = plan_collective(request, machine);
  EXPECT_TRUE(program) << to_string(program.error());
  const auto verified = verify(*std::move(program), machine);
  EXPECT_TRUE(verified) << to_string(verified.error().front());
  const auto result = simulate(*verified, {.iterations = iterations, .trace = false, .sharing = {}});
  EXPECT_TRUE(result) << to_string(result.error());
  return result->timeline.iteration_times;
}

// Four queues, each one copy of 50,000 B (1000 ns) and a signal.
const CollectiveRequest kFourCopies{
    .collective = "broadcast", .variant = "pcpy", .bytes = 50'000_B, .ranks = 5, .in_place = true};
constexpr std::int64_t kSubmit = 500 + 2 * 50;
constexpr std::int64_t kCopyAndSignal = 1000 + 1000 + 1000;  // start, bytes, sync

TEST(SoftwareEngines, OneThreadDoesEverythingInTurn) {
  // The host keeps the only thread until it waits; the packets of the last queue are fetched 1000 later, but those of
  // the first are there by then (4 submissions last 2400). Each queue then runs to its end. The first signal puts the
  // host in line behind the other three; when its turn comes it looks at the three other signals.
  const auto time = times(kFourCopies, node(1));
  EXPECT_EQ(time.front().value, 4 * kSubmit + 4 * kCopyAndSignal + 3 * 20);
}

TEST(SoftwareEngines, TwoThreadsShareTheQueues) {
  // The second thread begins `fetch` after the first submission. The host gives the first thread back after 2400, to
  // queue 1, which was fetched at 2200. Thread two: queue 0 from 1600 to 4600, then queue 2 to 7600. Thread one: queue
  // 1 from 2400 to 5400, then queue 3 to 8400.
  const auto time = times(kFourCopies, node(2));
  EXPECT_EQ(time.front().value, 4 * kSubmit + 2 * kCopyAndSignal + 20);
}

TEST(SoftwareEngines, AsManyThreadsAsQueuesAreHardware) {
  Machine hardware = node(0);
  EXPECT_EQ(times(kFourCopies, node(5)), times(kFourCopies, hardware));
}

TEST(SoftwareEngines, CopiesOfAQueueDoNotOverlap) {
  // Back to back: 3 copies of 50 B (1 ns), one after another with their start-ups; with overlap it would be 2 x 500
  // less.
  const CollectiveRequest request{
      .collective = "broadcast", .variant = "b2b", .bytes = 50_B, .ranks = 4, .in_place = true};
  EXPECT_EQ(times(request, node(1)).front().value, 500 + 4 * 50 + 1000 + 3 * (1000 + 1) + 1000 + 20);
}

TEST(SoftwareEngines, AQueueThatWaitsLeavesItsThreadToOthers) {
  // Prelaunched: all four queues poll before the trigger; on one thread none may keep it from the host.
  CollectiveRequest request = kFourCopies;
  request.prelaunch = true;
  const auto time = times(request, node(1), 3);
  ASSERT_EQ(time.size(), 3U);
  // 100 for the trigger; then the four queues one after another, and the host sees the last signal.
  EXPECT_GE(time.back().value, 100 + 4 * kCopyAndSignal);
  EXPECT_LE(time.back().value, 100 + 4 * kCopyAndSignal + 1000 + 20);
}

TEST(SoftwareEngines, AllGpusShareTheMemoryOfTheNode) {
  // Four copies at a time of 50 MB at 50 GB/s each would take 1 ms. One memory of 100 GB/s without caches: 4 x 50 MB
  // are read and written, 400 MB in 4 ms.
  CollectiveRequest request = kFourCopies;
  request.bytes = 50'000'000_B;
  const auto alone = times(request, node(5));
  const auto shared = times(request, node(5, {{0_B, {100}}}));
  EXPECT_NEAR(static_cast<double>(alone.front().value), 1e6, 0.01e6);
  EXPECT_NEAR(static_cast<double>(shared.front().value), 4e6, 0.01e6);
}

TEST(SoftwareEngines, WhatTheCachesHoldDoesNotReachTheMemory) {
  // Point to point, 50 MB: 100 MB are touched in an iteration. Caches of 100 MB hold them from the second one on.
  const CollectiveRequest request{.collective = "point-to-point", .bytes = 50'000'000_B, .ranks = 2};
  const auto time = times(request, node(1, {{Bytes{100'000'000}, {10}}}), 2);
  EXPECT_NEAR(static_cast<double>(time[0].value), 10e6, 0.01e6);  // 100 MB at 10 GB/s
  EXPECT_NEAR(static_cast<double>(time[1].value), 1e6, 0.01e6);   // 50 MB at the engine's 50 GB/s
}

}  // namespace software_engines_test
}  // namespace cortado::sim
