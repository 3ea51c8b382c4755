#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cortado/study.hpp"

namespace cortado::pipeline {
namespace what_if_test {

using testing::HasSubstr;

Machine machine_of(const std::string& name) {
  Result<Machine> machine = load_machine(name);
  EXPECT_TRUE(machine) << to_string(machine.error());
  return *std::move(machine);
}

TEST(Features, AreTakenFromAnotherMachine) {
  const Machine t3 = machine_of("mi300x-8+t3");
  const auto machine = with_features(machine_of("h100-8"), {"tracker", "nmc", "mca"}, t3);
  ASSERT_TRUE(machine) << to_string(machine.error());
  EXPECT_EQ(machine->name, "h100-8+tracker+nmc+mca");
  EXPECT_EQ(machine->features.tracker->entries, t3.features.tracker->entries);
  EXPECT_TRUE(machine->features.near_memory_compute);
  EXPECT_EQ(machine->timing->memory.update_cost, t3.timing->memory.update_cost);
  EXPECT_EQ(machine->timing->memory.arbitration->policy, ArbitrationPolicy::mca);
  EXPECT_EQ(machine->gpus, 8U);
}

TEST(Features, WrongOnesAreRefused) {
  const Machine today = machine_of("mi300x-8");
  const Machine t3 = machine_of("mi300x-8+t3");
  const auto refusal = [&](const Machine& machine, const char* feature, const Machine& as) {
    const auto changed = with_features(machine, {feature}, as);
    EXPECT_FALSE(changed) << feature;
    return changed ? Diagnostic{} : changed.error();
  };
  EXPECT_EQ(refusal(today, "trackr", t3).code, "what-if.feature");
  EXPECT_THAT(refusal(today, "trackr", t3).hint, HasSubstr("did you mean tracker?"));
  EXPECT_THAT(refusal(t3, "tracker", t3).message, HasSubstr("already has tracker"));
  EXPECT_FALSE(with_features(today, {"tracker", "tracker"}, t3));
  EXPECT_THAT(refusal(today, "nmc", machine_of("h100-8")).message, HasSubstr("has no nmc"));
}

const OverlapProblem kProblem{.relation = Relation::collective_needs_gemm,
                              .gemms = {{4096, 4096, 2048, DType::bf16}},
                              .collectives = {{.collective = "reduce-scatter"}}};

TEST(WhatIf, ComparesTheBestOfTodayWithTheBestOfTomorrow) {
  const auto report = what_if(kProblem, machine_of("mi300x-8"), {"tracker", "nmc", "mca"}, machine_of("mi300x-8+t3"));
  ASSERT_TRUE(report) << to_string(report.error().errors.front());
  EXPECT_EQ(report->today.machine, "mi300x-8");
  ASSERT_NE(report->tomorrow.row("t3"), nullptr);
  const double best_today = microseconds(report->today.row(report->today.choice)->time);
  const double best_tomorrow = microseconds(report->tomorrow.row(report->tomorrow.choice)->time);
  EXPECT_DOUBLE_EQ(report->gain(), best_today / best_tomorrow);
  EXPECT_FALSE(report->tomorrow.row(report->tomorrow.choice)->bound);
  // What is possible today is so tomorrow.
  for (const char* way : {"serial", "serial-dma", "hetero-fused-1d", "c3"})
    EXPECT_NE(report->tomorrow.row(way), nullptr) << way;
}

// Without arbitration there is T3, in turn, and no T3-MCA.
TEST(WhatIf, FeaturesMayComeWithoutArbitration) {
  const auto report = what_if(kProblem, machine_of("mi300x-8"), {"tracker", "nmc"}, machine_of("mi300x-8+t3"));
  ASSERT_TRUE(report) << to_string(report.error().errors.front());
  EXPECT_NE(report->tomorrow.row("t3"), nullptr);
  EXPECT_EQ(report->tomorrow.row("t3-mca"), nullptr);
}

// A tracker alone can pass pieces on but not add them up.
TEST(WhatIf, ATrackerAloneReducesNothing) {
  const auto report = what_if(kProblem, machine_of("mi300x-8"), {"tracker"}, machine_of("mi300x-8+t3"));
  ASSERT_TRUE(report) << to_string(report.error().errors.front());
  EXPECT_EQ(report->tomorrow.row("t3"), nullptr);
  ASSERT_FALSE(report->tomorrow.skipped.empty());
  EXPECT_THAT(report->tomorrow.skipped.front().reason.message, HasSubstr("near_memory_compute"));
  EXPECT_FALSE(report->tomorrow.row(report->tomorrow.choice)->bound);
}

/// A tracker that no strategy can use, and memory that serves communication last: both may stay unused.
TEST(WhatIf, TomorrowIsNeverSlower) {
  for (const GemmShape& gemm : {GemmShape{256, 256, 256}, GemmShape{8192, 8192, 1024}}) {
    OverlapProblem problem = kProblem;
    problem.gemms = {gemm};
    for (const char* feature : {"tracker", "mca"}) {
      const auto report = what_if(problem, machine_of("mi300x-8"), {feature}, machine_of("mi300x-8+t3"));
      ASSERT_TRUE(report) << to_string(report.error().errors.front());
      EXPECT_GE(report->gain(), 1) << feature;
      for (const OverlapRow& row : report->today.rows) {
        EXPECT_LE(report->tomorrow.row(row.strategy)->time, row.time) << feature << " " << row.strategy;
      }
    }
  }
}

}  // namespace what_if_test
}  // namespace cortado::pipeline
