#include "cortado/pipeline/fused.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cortado/pipeline/devices.hpp"

namespace cortado::pipeline {
namespace fused_test {

using testing::ElementsAre;
using testing::HasSubstr;

Machine machine_of(const std::string& name) {
  Result<Machine> machine = load_machine(name);
  EXPECT_TRUE(machine) << to_string(machine.error());
  return *std::move(machine);
}

FusedReport simulated(const FusedRequest& request, const std::string& machine, std::vector<std::string> ways = {}) {
  auto report = simulate_fused(request, machine_of(machine), {.ways = std::move(ways)});
  EXPECT_TRUE(report) << to_string(report.error().errors.front());
  return report ? *std::move(report) : FusedReport{};
}

std::vector<std::string> ways_of(const FusedReport& report) {
  std::vector<std::string> names;
  for (const report::FusedRow& row : report.rows) names.push_back(row.way);
  return names;
}

std::vector<std::string> skipped_of(const FusedReport& report) {
  std::vector<std::string> names;
  for (const report::SkippedWay& way : report.skipped) names.push_back(way.name + " " + way.reason.code);
  return names;
}

std::string code_of(const Outcome<FusedReport>& report) {
  return report ? "accepted" : report.error().errors.front().code;
}

const FusedRequest kSmall{{2048, 1024, 512, DType::f16}, "reduce-scatter"};

TEST(Fused, RowsFollowFromTheirTimes) {
  const FusedReport report = simulated(kSmall, "t3-ring-8", {"t3", "sequential", "ideal", "ideal-rs+nmc", "t3-mca"});
  EXPECT_THAT(ways_of(report), ElementsAre("t3", "sequential", "ideal-overlap", "ideal-rs+nmc", "t3-mca"));
  EXPECT_EQ(report.bytes, 4_MiB);  // 2048 x 1024 elements of two bytes
  EXPECT_EQ(report.serial, report.gemm_alone + report.comm_alone);
  EXPECT_EQ(report.row("sequential")->time, report.serial);
  EXPECT_EQ(report.row("ideal-overlap")->time, std::max(report.gemm_alone, report.comm_alone));
  EXPECT_EQ(report.row("ideal-rs+nmc")->time, std::max(report.gemm_alone, report.reduced_in_memory));
  EXPECT_LT(report.reduced_in_memory, report.comm_alone);
  for (const report::FusedRow& row : report.rows) {
    EXPECT_NEAR(row.speedup, microseconds(report.serial) / microseconds(row.time), 1e-12) << row.way;
    EXPECT_EQ(row.bound, row.way.starts_with("ideal")) << row.way;
  }
  EXPECT_LT(report.row("t3")->time, report.serial);
  EXPECT_EQ(report.choice.substr(0, 2), "t3");
}

// Facts: reduce-scatter reads 2N-1 chunks a GPU one after the other and N-2 fused; writes, with those of the product,
// 2N and 2N-2 chunks. One chunk a GPU is one N-th of the output, N of them are the output of all GPUs together.
TEST(Fused, TrafficIsThatOfTheAlgebra) {
  for (const char* machine : {"t3-ring-8", "t3-ring-16"}) {
    const FusedReport report = simulated(kSmall, machine, {"sequential", "t3"});
    const double n = report.ranks;
    const double chunk = 2048.0 * 1024 * 2;  // of all GPUs
    const DramTraffic& before = *report.row("sequential")->dram;
    const DramTraffic& after = *report.row("t3")->dram;
    EXPECT_DOUBLE_EQ(before.collective_reads, (2 * n - 1) * chunk) << machine;
    EXPECT_DOUBLE_EQ(after.collective_reads, (n - 2) * chunk) << machine;
    EXPECT_DOUBLE_EQ(before.writes(), 2 * n * chunk) << machine;
    EXPECT_DOUBLE_EQ(after.writes(), (2 * n - 2) * chunk) << machine;
  }
}

TEST(Fused, AnAllReduceIsAReduceScatterWithAnAllGatherBehindEveryWay) {
  const std::vector<std::string> ways{"sequential", "ideal", "t3"};
  const FusedReport scatter = simulated(kSmall, "t3-ring-8", ways);
  FusedRequest request = kSmall;
  request.collective = "all-reduce";
  const FusedReport reduce = simulated(request, "t3-ring-8", ways);
  const Nanoseconds gather = reduce.serial - scatter.serial;
  EXPECT_GT(gather.value, 0);
  for (const char* way : {"sequential", "ideal-overlap", "t3"}) {
    EXPECT_EQ(reduce.row(way)->time - scatter.row(way)->time, gather) << way;
  }
  // Seven chunks are sent to a GPU and as many are read there.
  EXPECT_DOUBLE_EQ(reduce.behind.reads(), 7.0 * 2048 * 1024 * 2);
  EXPECT_DOUBLE_EQ(reduce.row("t3")->dram->total() - scatter.row("t3")->dram->total(), reduce.behind.total());
}

TEST(Fused, EnergiesOfWhatIsDoneOneAfterTheOtherAddUp) {
  const std::vector<std::string> ways{"sequential", "ideal", "ficco", "c3"};
  const FusedReport scatter = simulated(kSmall, "mi300x-8", ways);
  FusedRequest request = kSmall;
  request.collective = "all-reduce";
  const FusedReport reduce = simulated(request, "mi300x-8", ways);
  EXPECT_FALSE(scatter.row("ideal-overlap")->energy);  // it has no program
  ASSERT_TRUE(scatter.row("sequential")->energy);
  EXPECT_NEAR(scatter.row("sequential")->energy->seconds, microseconds(scatter.serial) * 1e-6, 1e-12);
  // The all-gather behind is the same in all ways.
  const auto behind = [&](const char* way) {
    return reduce.row(way)->energy->joules() - scatter.row(way)->energy->joules();
  };
  EXPECT_GT(behind("sequential"), 0);
  EXPECT_NEAR(behind("ficco"), behind("sequential"), 1e-9);
  EXPECT_NEAR(behind("c3"), behind("sequential"), 1e-9);
}

TEST(Fused, TheObjectiveDecides) {
  for (const report::Objective objective : {report::Objective::energy, report::Objective::edp}) {
    const auto report = simulate_fused(kSmall, machine_of("mi300x-8"), {.objective = objective});
    ASSERT_TRUE(report) << to_string(report.error().errors.front());
    const auto cost = [&](const report::FusedRow& row) { return report::cost_of(row.time, row.energy, objective); };
    for (const report::FusedRow& row : report->rows) {
      if (row.bound) continue;
      EXPECT_LE(cost(*report->row(report->choice)), cost(row)) << row.way;
    }
    EXPECT_THAT(report->reason, HasSubstr("energy"));
  }
  Machine machine = machine_of("mi300x-8");
  machine.power.reset();
  EXPECT_EQ(code_of(simulate_fused(kSmall, machine, {.objective = report::Objective::energy})), "power.machine");
}

TEST(Fused, EverySystemStandsInOneTableWhereTheMachineCanDoIt) {
  const FusedReport tomorrow = simulated(kSmall, "mi300x-8+t3");
  EXPECT_THAT(ways_of(tomorrow),
              ElementsAre("sequential", "ideal-overlap", "ideal-rs+nmc", "t3", "t3-mca", "ficco", "c3"));
  const FusedReport today = simulated(kSmall, "mi300x-8");
  EXPECT_THAT(ways_of(today), ElementsAre("sequential", "ideal-overlap", "ficco", "c3"));
  EXPECT_THAT(skipped_of(today), ElementsAre("ideal-rs+nmc plan.feature", "t3 t3.feature", "t3-mca fused.arbitration"));
  // In a ring there is no exchange between all ranks.
  const FusedReport ring = simulated(kSmall, "t3-ring-8");
  EXPECT_THAT(ways_of(ring), ElementsAre("sequential", "ideal-overlap", "ideal-rs+nmc", "t3", "t3-mca"));
}

TEST(Fused, SchedulesOfFiccoMayBeAskedForBeside) {
  const FusedReport report = simulated(kSmall, "mi300x-8+t3", {"t3", "hetero-fused-1d/4"});
  EXPECT_THAT(ways_of(report), ElementsAre("t3", "hetero-fused-1d/4"));
  EXPECT_EQ(report.row("hetero-fused-1d/4")->how, "hetero-fused-1d/4");
}

TEST(Fused, WhatNobodyCanDoIsRefused) {
  const Machine machine = machine_of("t3-ring-8");
  FusedRequest request = kSmall;
  request.collective = "broadcast";
  EXPECT_EQ(code_of(simulate_fused(request, machine)), "fused.collective");
  request = kSmall;
  request.ranks = 9;
  EXPECT_EQ(code_of(simulate_fused(request, machine)), "fused.ranks");
  request.ranks = 1;
  EXPECT_EQ(code_of(simulate_fused(request, machine)), "fused.ranks");
  EXPECT_EQ(code_of(simulate_fused(kSmall, machine, {.ways = {"t4"}})), "ficco.schedule");
  EXPECT_EQ(code_of(simulate_fused({{0, 8, 8, DType::f16}}, machine)), "gemm.shape");
}

TEST(Fused, OnlyWaysWithAProgramHaveOne) {
  const Machine machine = machine_of("t3-ring-8");
  EXPECT_TRUE(plan_fused(kSmall, "t3", machine));
  for (const char* way : {"sequential", "ideal-overlap", "ideal-rs+nmc"}) {
    const auto program = plan_fused(kSmall, way, machine);
    ASSERT_FALSE(program) << way;
    EXPECT_EQ(program.error().code, "fused.program") << way;
  }
}

TEST(Fused, ReallyRunsOnTheEmbeddedNode) {
  const Machine machine = machine_of("mi300x-8+t3");
  const FusedRequest request{{48, 40, 24, DType::f32}, "reduce-scatter", 4};
  const auto driver = open_device({"soft", 4, {}}, machine);
  ASSERT_TRUE(driver) << to_string(driver.error());
  RunSettings settings;
  settings.run.iterations = 3;
  settings.run.check = device::CheckOutputs::last;
  const auto report = run_fused(request, machine, **driver, settings, {.ways = {"sequential", "t3", "t3-mca"}});
  ASSERT_TRUE(report) << to_string(report.error().errors.front());
  EXPECT_THAT(ways_of(*report), ElementsAre("sequential", "t3"));
  EXPECT_THAT(skipped_of(*report), ElementsAre("t3-mca fused.arbitration"));
  for (const report::FusedRow& row : report->rows) EXPECT_EQ(row.wrong, 0U) << row.way;
}

}  // namespace fused_test
}  // namespace cortado::pipeline
