#include "pipeline/characterize.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cortado/study.hpp"

#include "gemm/gemm.hpp"

namespace cortado::pipeline {
namespace characterize_test {

Machine mi300x() {
  Result<Machine> machine = load_machine("mi300x-8");
  EXPECT_TRUE(machine) << to_string(machine.error());
  return *std::move(machine);
}

const DependentRequest kRequest{.gemm = {4096, 512, 2048, DType::bf16}, .collective = "all-gather"};

report::Characterization characterized(const DependentRequest& request, const Machine& machine) {
  auto report = characterize(request, machine);
  EXPECT_TRUE(report) << to_string(report.error().errors.front());
  return *std::move(report);
}

const report::DecompositionRow& row(const report::Characterization& report, std::string_view schedule,
                                    std::uint32_t chunks) {
  for (const auto& row : report.decomposition) {
    if (row.schedule == schedule && row.chunks == chunks) return row;
  }
  throw std::out_of_range("no such row");
}

TEST(Characterize, PiecesAloneAgainstTheWhole) {
  const Machine machine = mi300x();
  const auto alone = [&](std::uint64_t m, std::uint64_t k, bool accumulate = false) {
    const GemmShape shape{m, 512, k, DType::bf16, accumulate};
    const double clock = sustained_clock_ghz(shape.dtype, machine);
    return estimate_gemm(shape, choose_tiling(shape, machine, 304), machine, 304, clock).seconds;
  };
  const auto report = characterized(kRequest, machine);
  EXPECT_EQ(report.decomposition.size(), 4 * 6U);
  const double whole = alone(4096, 2048);
  EXPECT_NEAR(microseconds(report.gemm_alone), whole * 1e6, 1e-3);
  for (const std::uint32_t chunks : {2U, 8U, 64U}) {
    EXPECT_NEAR(row(report, "uniform-fused-1d", chunks).dil, chunks * alone(4096 / chunks, 2048) / whole, 1e-9);
    const double own = alone(512, 2048);
    EXPECT_NEAR(row(report, "hetero-fused-1d", chunks).dil, (own + chunks * alone(3584 / chunks, 2048)) / whole, 1e-9);
    EXPECT_NEAR(row(report, "hetero-unfused-1d", chunks).dil, (own + 7 * chunks * alone(512 / chunks, 2048)) / whole,
                1e-9);
    EXPECT_NEAR(row(report, "uniform-fused-2d", chunks).dil,
                (alone(4096, 2048 / chunks) + (chunks - 1) * alone(4096, 2048 / chunks, true)) / whole, 1e-9);
  }
  EXPECT_EQ(row(report, "hetero-unfused-1d", 8).pieces, 57U);  // its own rows, and seven a step
  EXPECT_EQ(row(report, "hetero-unfused-1d", 8).largest, "512x512x2048");
  // 56 kernels more than one, each of which takes 2.8 us to start.
  EXPECT_NEAR(row(report, "hetero-unfused-1d", 8).kernel_starts, 56 * 2.8e-6 / whole, 1e-9);
}

TEST(Characterize, CausesAddUpToTheLoss) {
  const auto report = characterized(kRequest, mi300x());
  for (const auto& row : report.decomposition) {
    const auto causes = row.causes.values();
    EXPECT_NEAR(std::accumulate(causes.begin(), causes.end(), 1.0), row.dil, 1e-9) << row.schedule << row.chunks;
    const bool adds_up = row.schedule == "uniform-fused-2d";
    EXPECT_TRUE(adds_up || row.causes.results == 0) << row.schedule;
  }
  EXPECT_GT(row(report, "uniform-fused-2d", 64).causes.results, 0);
}

/// kRequest as a problem of overlap, by the schedules that are characterized.
Outcome<OverlapReport> compared(const Machine& machine) {
  OverlapOptions options{.strategies = {"serial-dma"}, .contention = true};
  for (const FiccoScheduleInfo& info : list_schedules()) {
    if (info.published || info.schedule.grain == Grain::shards) options.strategies.push_back(info.name);
  }
  return study_overlap({.relation = Relation::gemm_needs_collective,
                        .gemms = {kRequest.gemm},
                        .collectives = {{.collective = kRequest.collective}}},
                       machine, options);
}

TEST(Characterize, SchedulesOnEnginesAreThoseOfDependentOverlap) {
  const Machine machine = mi300x();
  const auto report = characterized(kRequest, machine);
  const auto dependent = compared(machine);
  ASSERT_TRUE(dependent) << to_string(dependent.error().errors.front());
  EXPECT_EQ(report.contention.size(), 2 * dependent->rows.size());
  EXPECT_EQ(report.serial, dependent->row("serial-dma")->time);
  for (const report::ContentionRow& row : report.contention) {
    if (row.on_cores) continue;
    const OverlapRow* same = dependent->row(row.schedule);
    ASSERT_NE(same, nullptr) << row.schedule;
    EXPECT_EQ(row.time, same->time) << row.schedule;
    EXPECT_EQ(row.cil_gemm, same->cil_gemm) << row.schedule;
    EXPECT_EQ(row.cil_comm, same->cil_comm) << row.schedule;
    // The kernels of a rank do nothing but this, and hosts take a little.
    const Nanoseconds known = row.products + row.other_kernels + row.first_wait + row.later_waits;
    EXPECT_LE(known, row.time) << row.schedule;
    EXPECT_GT(microseconds(known) + 100, microseconds(row.time)) << row.schedule;
  }
}

TEST(Characterize, OddSizesProductsFirstAndWhatCannotBeCut) {
  const Machine machine = mi300x();
  DependentRequest request{.gemm = {1001, 96, 232, DType::f16}, .collective = "all-to-all", .ranks = 3};
  EXPECT_EQ(characterized(request, machine).contention.size(), 12U);
  request.collective = "reduce-scatter";
  request.dependence = Dependence::product_first;
  EXPECT_TRUE(characterized(request, machine).product_first);
  request = {.gemm = {128, 64, 511, DType::bf16}, .collective = "all-gather"};  // 16 rows a rank; odd columns
  const auto report = characterized(request, machine);
  std::vector<std::string> skipped;
  for (const report::SkippedWay& way : report.skipped) skipped.push_back(way.name + " " + way.reason.code);
  EXPECT_THAT(skipped, testing::Contains("uniform-fused-1d/32 ficco.chunks"));
  EXPECT_THAT(skipped, testing::Contains("uniform-fused-2d ficco.panels"));
  EXPECT_EQ(report.contention.size(), 11U);  // compute units can copy anything
}

TEST(Characterize, NothingDependsOnTheNumberOfThreads) {
  const Machine machine = mi300x();
  std::vector<std::string> reports;
  std::vector<std::string> maps;
  for (const std::uint32_t threads : {1U, 2U}) {
    const CharacterizeOptions options{.threads = threads};
    const auto report = characterize(kRequest, machine, options);
    ASSERT_TRUE(report) << to_string(report.error().errors.front());
    reports.push_back(to_json(report::characterization_document(*report)));
    const auto map = map_schedules({.n = 512, .m = {1024, 8192}, .k = {512, 4096, 8192}}, machine, options);
    ASSERT_TRUE(map) << to_string(map.error().errors.front());
    maps.push_back(to_json(report::schedule_map_document(*map)));
  }
  EXPECT_EQ(reports[0], reports[1]);
  EXPECT_EQ(maps[0], maps[1]);
}

#ifndef CORTADO_SANITIZED  // this checks numbers only; the next test runs the same code
TEST(ScheduleMap, EveryPublishedScheduleIsAmongTheBestOfThemSomewhere) {
  std::map<std::string, std::size_t> near;
  const std::vector<std::string> published{"serial-dma",      "shard-p2p",         "uniform-fused-1d",
                                           "hetero-fused-1d", "hetero-unfused-1d", "uniform-fused-2d"};
  for (const std::uint64_t n : {1024U, 3584U, 6656U}) {
    const auto map = map_schedules({.n = n, .m = {2048, 16384, 262144}, .k = {2048, 8192, 16384, 262144}}, mi300x());
    ASSERT_TRUE(map) << to_string(map.error().errors.front());
    for (const report::MapCell& cell : map->cells) {
      std::map<std::string, Nanoseconds> times;
      for (std::size_t i = 0; i < map->schedules.size(); ++i) {
        if (cell.times[i] && std::ranges::count(published, map->schedules[i]) > 0) {
          times[map->schedules[i]] = *cell.times[i];
        }
      }
      const auto best = std::ranges::min_element(times, {}, [](const auto& one) { return one.second; });
      for (const auto& [name, time] : times) {
        if (static_cast<double>(time.value) <= 1.01 * static_cast<double>(best->second.value)) ++near[name];
      }
    }
  }
  EXPECT_EQ(near["shard-p2p"], 0U);  // one link at a time
  for (const std::string& name : published) {
    if (name == "shard-p2p") continue;
    EXPECT_GT(near[name], 0U) << name;
  }
}
#endif

// One question, one answer.
TEST(ScheduleMap, AnswersAsAStudyOfTheSameGemm) {
  const Machine machine = mi300x();
  const auto map = map_schedules({.n = 3584, .m = {4096, 16384}, .k = {8192}}, machine);
  ASSERT_TRUE(map) << to_string(map.error().errors.front());
  for (const report::MapCell& cell : map->cells) {
    const auto study = study_overlap({.relation = Relation::gemm_needs_collective,
                                      .gemms = {{cell.m, 3584, cell.k}},
                                      .collectives = {{.collective = "all-gather"}}},
                                     machine);
    ASSERT_TRUE(study) << to_string(study.error().errors.front());
    EXPECT_EQ(cell.choice, study->choice);
    EXPECT_EQ(cell.times[*cell.winner], study->row(study->choice)->time);
    EXPECT_EQ(cell.serial, study->serial);
    EXPECT_TRUE(study->choice.starts_with(map->schedules[*cell.winner]));
  }
}

TEST(ScheduleMap, WhatDoesNotFitHasNoWinner) {
  // All of A is 256 GiB, more than a GPU has.
  const auto map = map_schedules({.n = 2048, .m = {4096, 1 << 20}, .k = {1 << 17}}, mi300x());
  ASSERT_TRUE(map) << to_string(map.error().errors.front());
  EXPECT_TRUE(map->cells[0].winner);
  EXPECT_FALSE(map->cells[1].winner);
  EXPECT_FALSE(map->cells[1].speedup());
  EXPECT_THAT(map->cells[1].times, testing::Each(std::nullopt));
}

TEST(Characterize, RefusesWhatCannotBe) {
  const Machine machine = mi300x();
  const auto code = [](const auto& outcome) { return outcome ? "accepted" : outcome.error().errors.front().code; };
  DependentRequest request = kRequest;
  request.collective = "all-reduce";
  EXPECT_EQ(code(characterize(request, machine)), "ficco.collective");
  EXPECT_EQ(code(map_schedules({.n = 64, .collective = "all-reduce", .m = {64}, .k = {64}}, machine)),
            "ficco.collective");
  EXPECT_EQ(code(map_schedules({.n = 0, .m = {64}, .k = {64}}, machine)), "gemm.shape");
  EXPECT_EQ(code(map_schedules({.n = 64, .ranks = 9, .m = {64}, .k = {64}}, machine)), "ficco.ranks");
  const CharacterizeOptions stopped{.progress = [](std::size_t, std::size_t) { return false; }};
  EXPECT_EQ(code(characterize(kRequest, machine, stopped)), "overlap.interrupted");
  EXPECT_EQ(code(map_schedules({.n = 64, .m = {64}, .k = {64}}, machine, stopped)), "overlap.interrupted");
}

}  // namespace characterize_test
}  // namespace cortado::pipeline
