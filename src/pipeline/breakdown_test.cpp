#include "pipeline/breakdown.hpp"

#include <gtest/gtest.h>

#include "cortado/target.hpp"

namespace cortado::pipeline {
namespace breakdown_test {

/// virtual-64: packet 50, submit 500, fetch, copy_start and sync 1000 ns; 50 GB/s, so 50 bytes a nanosecond.
TEST(Breakdown, ASimulatedCopyIsCutAtItsModel) {
  const auto phases = copy_phases(50'000_B, load_machine("virtual-64").value(), *simulator());
  ASSERT_TRUE(phases) << to_string(phases.error().errors.front());
  EXPECT_EQ(phases->control.value, 2 * 50 + 500);  // a copy packet and a signal packet
  EXPECT_EQ(phases->schedule.value, 1000);
  EXPECT_EQ(phases->copy.value, 1000 + 50'000 / 50);
  EXPECT_EQ(phases->sync.value, 1000);
  // The simulated time has the host's poll of 20 as well (Simulate.OneCopyIsTheSumOfItsPhases).
  EXPECT_EQ(phases->total().value, 4600);
}

TEST(Breakdown, ACopyOfSeveralPacketsIsOneCopyPhase) {
  Machine machine = load_machine("virtual-64").value();
  machine.dma.max_copy_bytes = {25'024};  // so that 50,000 B are two packets
  const auto phases = copy_phases(50'000_B, machine, *simulator());
  ASSERT_TRUE(phases) << to_string(phases.error().errors.front());
  EXPECT_EQ(phases->control.value, 3 * 50 + 500);
  // The second copy is issued 500 after the first, whose bytes take 500: the engine moves bytes without a pause from
  // 1000 on.
  EXPECT_EQ(phases->copy.value, 1000 + 50'000 / 50);
}

/// Spans of one iteration from `at` on, in the order begin, submit, copy, signal, wait, end.
void add_iteration(Timeline& timeline, std::uint32_t iteration, std::int64_t at, std::int64_t copy) {
  const auto span = [&](SpanKind kind, std::int64_t start, std::int64_t end) {
    Span s;
    s.kind = kind;
    s.start = {at + start};
    s.end = {at + end};
    s.iteration = iteration;
    timeline.spans.push_back(s);
  };
  span(SpanKind::mark, 0, 0);
  span(SpanKind::host, 10, 100);
  span(SpanKind::copy, 80, 80 + copy);
  span(SpanKind::signal, 80 + copy, 90 + copy);
  span(SpanKind::wait, 100, 120 + copy);
  span(SpanKind::mark, 120 + copy, 120 + copy);
}

TEST(Breakdown, MeasuredPhasesDoNotOverlapAndAreMedians) {
  Timeline timeline;
  add_iteration(timeline, 4, 0, 300);
  add_iteration(timeline, 5, 1000, 9000);
  add_iteration(timeline, 6, 20'000, 310);
  const auto phases = copy_phases_of(timeline);
  ASSERT_TRUE(phases) << to_string(phases.error());
  // The engine starts at 80, before the Submit returns at 100: control is 80, schedule nothing.
  EXPECT_EQ(*phases, (CopyPhases{{80}, {0}, {310}, {10}}));
}

TEST(Breakdown, RunsOnTheEmbeddedNode) {
  const Machine machine = load_machine("mi300x-8").value();
  TargetRequest request;
  request.gpus = 2;
  request.soft.workers = 0;
  const auto target = open_target(request, machine);
  ASSERT_TRUE(target) << to_string(target.error());
  const RunOptions run{.iterations = 3, .warmup = 1};
  const auto phases = copy_phases(1_MiB, machine, **target, run);
  ASSERT_TRUE(phases) << to_string(phases.error().errors.front());
  for (const Nanoseconds phase : phases->in_order()) EXPECT_GE(phase.value, 0);
  EXPECT_GT(phases->copy.value, 0);
}

TEST(Breakdown, ATimelineWithoutSpansIsRefused) {
  const auto phases = copy_phases_of({});
  ASSERT_FALSE(phases);
  EXPECT_EQ(phases.error().code, "breakdown.spans");
}

TEST(Breakdown, AMachineWithoutTimingIsRefused) {
  Machine machine = load_machine("virtual-64").value();
  machine.timing.reset();
  const auto phases = copy_phases(1_KiB, machine, *simulator());
  ASSERT_FALSE(phases);
  EXPECT_EQ(phases.error().errors.front().code, "sim.timing");
  EXPECT_FALSE(phases.error().program_failed());
}

}  // namespace breakdown_test
}  // namespace cortado::pipeline
