#include "pipeline/compare.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "cortado/plan.hpp"
#include "cortado/target.hpp"
#include "cortado/timeline.hpp"

namespace cortado::pipeline {
namespace compare_test {

VerifiedProgram all_gather(const Machine& machine) {
  return verify(plan_collective({.collective = "all-gather", .bytes = 8_KiB, .in_place = true}, machine).value(),
                machine)
      .value();
}

TEST(Compare, RunsAndSimulatesTheSameProgram) {
  const Machine machine = load_machine("mi300x-8").value();
  const auto target = open_target({"soft", 8, {.workers = 0, .adversarial_seed = {}, .faults = {}}}, machine).value();
  const auto comparison = compare_verified(all_gather(machine), *target, {.iterations = 3, .trace = true});
  ASSERT_TRUE(comparison) << to_string(comparison.error().errors.front());
  EXPECT_GT(comparison->measured.value, 0);
  EXPECT_GT(comparison->simulated.value, 0);
  EXPECT_EQ(comparison->wrong_bytes, 0U);
  for (const auto& timeline : {comparison->measured_timeline, comparison->simulated_timeline}) {
    ASSERT_TRUE(timeline.has_value());
    std::size_t copies = 0;
    for (const Span& span : timeline->spans) {
      EXPECT_EQ(span.iteration, 0U);
      EXPECT_GE(span.start.value, 0);
      copies += span.kind == SpanKind::copy ? 1 : 0;
    }
    EXPECT_EQ(copies, 56U);
    ASSERT_EQ(timeline->iteration_times.size(), 1U);
    // Finds the time of the iteration that the spans name. On a busy computer none of it need be that of a copy.
    const auto parts = critical_path(*timeline).in_order();
    EXPECT_TRUE(std::ranges::any_of(parts, [](Nanoseconds part) { return part.value > 0; }));
  }
  EXPECT_FALSE(comparison->measured_timeline->simulated);
  EXPECT_TRUE(comparison->simulated_timeline->simulated);
}

TEST(Compare, AMachineWithoutTimingIsRefusedBeforeTheRun) {
  Machine machine = load_machine("mi300x-8").value();
  machine.timing.reset();
  const auto target = open_target({"soft", 8, {.workers = 0, .adversarial_seed = {}, .faults = {}}}, machine).value();
  const auto comparison = compare_verified(all_gather(machine), *target, {});
  ASSERT_FALSE(comparison);
  EXPECT_EQ(comparison.error().errors.front().code, "sim.timing");
}

TEST(Compare, ErrorsAreSharesOfTheMeasuredTime) {
  const Comparison comparison{{200}, {150}};
  EXPECT_DOUBLE_EQ(comparison.ratio(), 0.75);
  EXPECT_DOUBLE_EQ(comparison.error(), 0.25);
  const ErrorSummary odd = summary_of({0.5, 0.1, 0.2});
  EXPECT_DOUBLE_EQ(odd.median, 0.2);
  EXPECT_DOUBLE_EQ(odd.worst, 0.5);
  EXPECT_DOUBLE_EQ(summary_of({0.1, 0.2}).median, (0.1 + 0.2) / 2);
}

TEST(Compare, TheLastIterationBeginsAtZero) {
  Timeline timeline;
  timeline.tracks = {{"q", RankId{0}}};
  timeline.iteration_times = {{10}, {20}};
  timeline.spans = {{.track = 0, .name = "a", .start = {5}, .end = {9}, .iteration = 0},
                    {.track = 0, .name = "b", .start = {30}, .end = {40}, .iteration = 1},
                    {.track = 0, .name = "c", .start = {40}, .end = {45}, .iteration = 1}};
  timeline.flows = {{0, 1}, {1, 2}};
  timeline.energy = EnergyUse{.energy = {}, .seconds = 40e-9, .gpus = 2};
  timeline.iteration_energies.resize(2);
  timeline.iteration_energies[1][EnergyPart::hbm_bytes] = 3e-6;
  const Timeline last = last_iteration(timeline);
  ASSERT_EQ(last.spans.size(), 2U);
  EXPECT_EQ(last.spans[0].start.value, 0);
  EXPECT_EQ(last.spans[1].end.value, 15);
  EXPECT_EQ(last.spans[0].iteration, 0U);
  EXPECT_EQ(last.spans[1].iteration, 0U);
  ASSERT_EQ(last.flows.size(), 1U);
  EXPECT_EQ(last.flows[0].from_span, 0U);
  EXPECT_EQ(last.flows[0].to_span, 1U);
  EXPECT_EQ(last.iteration_times, std::vector<Nanoseconds>{{20}});
  EXPECT_DOUBLE_EQ(last.energy->joules(), 3e-6);
  EXPECT_NEAR(last.energy->watts(), 75, 1e-9);  // 3 uJ in 20 ns on 2 GPUs
}

}  // namespace compare_test
}  // namespace cortado::pipeline
