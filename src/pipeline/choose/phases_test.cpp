#include "pipeline/phases.hpp"

#include <gtest/gtest.h>

#include "cortado/plan.hpp"

namespace cortado::pipeline {
namespace phases_test {

/// virtual-64: packet 50, submit 500, trigger 100, poll 20, signal 100; fetch, wake, copy_start and sync 1000,
/// copy_issue 500 ns; 50 bytes a nanosecond; cores: launch 5000, start 2000, flag 1000.
PathPhases path_of(CollectiveRequest request) {
  const Machine machine = load_machine("virtual-64").value();
  const auto verified = prove(plan_collective(request, machine), machine);
  EXPECT_TRUE(verified) << to_string(verified.error().errors.front());
  if (!verified) return {};
  const auto run = simulator()->run(*verified, {.trace = true});
  EXPECT_TRUE(run) << to_string(run.error().errors.front());
  if (!run) return {};
  const PathPhases phases = phases_of(*run, *verified);
  EXPECT_EQ(phases.total(), run->time);
  return phases;
}

TEST(Phases, OneCopyIsCutAtItsModel) {
  const PathPhases phases = path_of({.collective = "point-to-point", .bytes = 50'000_B, .ranks = 2});
  EXPECT_EQ(phases.control.value, 2 * 50 + 500);
  EXPECT_EQ(phases.schedule.value, 1000 + 1000);
  EXPECT_EQ(phases.bytes.value, 1000);
  EXPECT_EQ(phases.sync.value, 1000 + 20);
}

TEST(Phases, APrelaunchedCopyStartsWithItsTrigger) {
  const PathPhases phases = path_of({.collective = "point-to-point", .bytes = 50'000_B, .ranks = 2, .prelaunch = true});
  // The queue was submitted and fetched before: the Submit of one queue with 3 packets takes 650 ns, and its fetch is
  // over 1000 later; the trigger, written at 750, comes first, so its poll passes when it is read: at 1650. Of the time
  // from "begin" at 650 on that is all scheduling.
  EXPECT_EQ(phases.control.value, 0);
  EXPECT_EQ(phases.schedule.value, 1000 + 1000);
  EXPECT_EQ(phases.bytes.value, 1000);
  EXPECT_EQ(phases.sync.value, 1000 + 20);
}

TEST(Phases, TheLastOfManyQueuesEndsThePath) {
  // 8 x 7 queues of a copy and a signal, submitted one after another; the last one ends last, and its copy of 16 KiB /
  // 8 takes 41 ns.
  const PathPhases pcpy = path_of({.collective = "all-gather", .bytes = 16_KiB, .ranks = 8, .in_place = true});
  EXPECT_EQ(pcpy.control.value, 56 * (2 * 50 + 500));
  EXPECT_EQ(pcpy.schedule.value, 1000 + 1000);
  EXPECT_EQ(pcpy.bytes.value, 41);
  EXPECT_EQ(pcpy.sync.value, 1000 + 20);
  // 8 queues of 7 copies and a signal; the seventh copy is issued 6 x 500 after the first.
  const PathPhases b2b =
      path_of({.collective = "all-gather", .variant = "b2b", .bytes = 16_KiB, .ranks = 8, .in_place = true});
  EXPECT_EQ(b2b.control.value, 8 * (8 * 50 + 500));
  EXPECT_EQ(b2b.schedule.value, 1000 + 6 * 500 + 1000);
  EXPECT_EQ(b2b.bytes.value, 41);
  EXPECT_EQ(b2b.sync.value, 1000 + 20);
}

TEST(Phases, APrelaunchedQueueIsWokenByTheTrigger) {
  const PathPhases phases =
      path_of({.collective = "all-gather", .bytes = 16_KiB, .ranks = 8, .prelaunch = true, .in_place = true});
  // All queues that were fetched in time end together, and the host then looks at the signals of all 56.
  EXPECT_EQ(phases.control.value, 100);
  EXPECT_EQ(phases.schedule.value, 1000);
  EXPECT_EQ(phases.bytes.value, 41);
  EXPECT_EQ(phases.sync.value, 1000 + 1000 + 56 * 20);
}

TEST(Phases, KernelsAndTheirFlagsArePartOfIt) {
  const PathPhases phases = path_of({.collective = "reduce-scatter", .bytes = 64_KiB, .ranks = 2});
  // submit dma0, launch compute0, submit dma1, launch compute1; compute1 starts 2000 later, when its block has been
  // there for long. Its kernel reads and writes 3 x 32 KiB at 256 x 40 GB/s, bound by the memory's share of the cache;
  // its flag takes 1000, the host's look 20.
  EXPECT_EQ(phases.control.value, 600 + 5000 + 600 + 5000);
  EXPECT_EQ(phases.schedule.value, 2000);
  EXPECT_GE(phases.bytes.value, 3 * 32768 / (256 * 40));
  EXPECT_EQ(phases.sync.value, 1000 + 20);
}

TEST(Phases, AddsUpForEveryVariant) {
  for (const VariantInfo& info : list_variants()) {
    for (const HostThreads host : {HostThreads::single, HostThreads::per_rank}) {
      for (const bool prelaunch : {false, true}) {
        CollectiveRequest request{.collective = info.collective, .variant = info.variant, .bytes = 1_MiB, .ranks = 4};
        request.host = host;
        request.prelaunch = prelaunch;
        request.in_place = default_in_place(info.collective, info.variant);
        const Machine machine = load_machine("virtual-64-nmc").value();
        const auto verified = prove(plan_collective(request, machine), machine);
        if (!verified) continue;
        const auto run = simulator()->run(*verified, {.trace = true});
        ASSERT_TRUE(run) << to_string(run.error().errors.front());
        const PathPhases phases = phases_of(*run, *verified);
        EXPECT_EQ(phases.total(), run->time) << info.collective.name() << " " << info.variant;
        for (const Nanoseconds phase : phases.in_order()) EXPECT_GE(phase.value, 0);
        EXPECT_GT(phases.bytes.value, 0) << info.collective.name() << " " << info.variant;
      }
    }
  }
}

}  // namespace phases_test
}  // namespace cortado::pipeline
