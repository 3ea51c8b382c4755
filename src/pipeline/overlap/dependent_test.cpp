#include "cortado/pipeline/dependent.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cortado/pipeline/devices.hpp"

#include "pipeline/overlap/dependent_parts.hpp"
#include "pipeline/overlap/study.hpp"

namespace cortado::pipeline {
namespace dependent_test {

using testing::ElementsAre;
using testing::HasSubstr;

Machine mi300x() {
  Result<Machine> machine = load_machine("mi300x-8");
  EXPECT_TRUE(machine) << to_string(machine.error());
  return *std::move(machine);
}

DependentRequest small_request(Collective collective = "all-gather", DType dtype = DType::bf16) {
  DependentRequest request;
  request.gemm = {1024, 256, 512, dtype};
  request.collective = collective;
  return request;
}

/// Everything that a collective and a product can be to each other.
std::vector<DependentRequest> all_directions(const GemmShape& gemm, std::uint32_t ranks) {
  using enum Dependence;
  return {{.gemm = gemm, .collective = "all-gather", .dependence = collective_first, .ranks = ranks},
          {.gemm = gemm, .collective = "all-to-all", .dependence = collective_first, .ranks = ranks},
          {.gemm = gemm, .collective = "reduce-scatter", .dependence = product_first, .ranks = ranks},
          {.gemm = gemm, .collective = "all-to-all", .dependence = product_first, .ranks = ranks}};
}

std::vector<std::string> schedules_of(const DependentReport& report) {
  std::vector<std::string> names;
  for (const report::DependentRow& row : report.rows) names.push_back(row.schedule);
  return names;
}

std::vector<std::string> all_schedules() {
  std::vector<std::string> names;
  for (const FiccoScheduleInfo& info : list_schedules()) names.push_back(info.name);
  return names;
}

std::string code_of(const Outcome<DependentReport>& report) {
  return report ? "accepted" : report.error().errors.front().code;
}

TEST(Dependent, RowsFollowFromTheirTimes) {
  const auto report = simulate_dependent(small_request(), mi300x());
  ASSERT_TRUE(report) << to_string(report.error().errors.front());
  EXPECT_THAT(schedules_of(*report), ElementsAre("serial", "shard-p2p", "uniform-fused-1d", "hetero-fused-1d",
                                                 "hetero-unfused-1d", "uniform-fused-2d"));
  EXPECT_EQ(report->bytes, 1_MiB);  // 1024 x 512 elements of two bytes
  EXPECT_EQ(report->ideal, std::max(report->gemm_alone, report->comm_alone));
  EXPECT_GT(report->serial, report->ideal);
  EXPECT_EQ(report->row("serial")->time, report->serial);
  EXPECT_EQ(report->row("serial")->comm, report->comm_alone);
  EXPECT_DOUBLE_EQ(report->row("serial")->speedup, 1);
  EXPECT_DOUBLE_EQ(report->row("serial")->share_of_ideal, 0);
  for (const report::DependentRow& row : report->rows) {
    EXPECT_GE(row.time, report->row(report->choice)->time) << row.schedule;
    EXPECT_NEAR(row.speedup * microseconds(row.time), microseconds(report->serial), 1e-6) << row.schedule;
    EXPECT_EQ(row.exposed, row.time - report->gemm_alone) << row.schedule;  // all take longer than the product
    EXPECT_LT(row.comm, row.gemm) << row.schedule;                          // the last piece is multiplied, too
    EXPECT_LE(row.gemm, row.time) << row.schedule;
    EXPECT_GT(row.hbm_bytes.value_or(0), 0) << row.schedule;
  }
  EXPECT_EQ(name_of(report->chosen()), report->choice);
}

TEST(Dependent, TheObjectiveDecides) {
  for (const auto& [name, objective] : report::kObjectives) {
    const auto report = simulate_dependent(small_request(), mi300x(), {.objective = objective});
    ASSERT_TRUE(report) << to_string(report.error().errors.front());
    const report::DependentRow& best = *report->row(report->choice);
    for (const report::DependentRow& row : report->rows) {
      ASSERT_TRUE(row.energy) << row.schedule;
      EXPECT_NEAR(row.energy->seconds, microseconds(row.time) * 1e-6, 1e-12) << row.schedule;
      EXPECT_LE(report::cost_of(best.time, best.energy, objective), report::cost_of(row.time, row.energy, objective))
          << name << " " << row.schedule;
    }
  }
  Machine machine = mi300x();
  machine.power.reset();
  EXPECT_EQ(code_of(simulate_dependent(small_request(), machine, {.objective = report::Objective::edp})),
            "power.machine");
}

// All of A is 1024 KiB, the rows of a rank 128 KiB, B 256 KiB, C 512 KiB.
TEST(Dependent, MemoryOfASchedule) {
  const auto report = simulate_dependent(small_request(), mi300x());
  ASSERT_TRUE(report) << to_string(report.error().errors.front());
  EXPECT_EQ(report->row("serial")->footprint, 1792_KiB);  // gathered in place
  EXPECT_EQ(report->row("serial")->staging, 0_B);
  EXPECT_EQ(report->row("shard-p2p")->staging, 256_KiB);  // two shards
  EXPECT_EQ(report->row("shard-p2p")->footprint, 1152_KiB);
  EXPECT_EQ(report->row("uniform-fused-1d")->staging, 320_KiB);  // two of 128 rows of A, and 128 rows of C: 64 KiB
  EXPECT_EQ(report->row("uniform-fused-1d")->footprint, 1216_KiB);
  EXPECT_EQ(report->row("serial")->chunks, 1U);
  EXPECT_EQ(report->row("shard-p2p")->chunks, 7U);
  EXPECT_EQ(report->row("uniform-fused-1d")->chunks, 8U);
}

TEST(Dependent, LossByCuttingIsThePiecesOverTheWhole) {
  const Machine machine = mi300x();
  const auto alone = [&](std::uint64_t m, std::uint64_t k, bool accumulate = false) {
    const GemmShape shape{m, 256, k, DType::bf16, accumulate};
    return estimate_gemm(shape, choose_tiling(shape, machine, 304), machine, 304).seconds;
  };
  const double whole = alone(1024, 512);
  const auto report = simulate_dependent(small_request(), machine);
  ASSERT_TRUE(report) << to_string(report.error().errors.front());
  const auto dil = [&](const char* schedule) { return report->row(schedule)->dil; };
  EXPECT_DOUBLE_EQ(dil("serial"), 1);
  EXPECT_NEAR(dil("shard-p2p"), 8 * alone(128, 512) / whole, 1e-9);
  EXPECT_NEAR(dil("uniform-fused-1d"), 8 * alone(128, 512) / whole, 1e-9);
  EXPECT_NEAR(dil("hetero-fused-1d"), (alone(128, 512) + 8 * alone(112, 512)) / whole, 1e-9);
  EXPECT_NEAR(dil("hetero-unfused-1d"), (alone(128, 512) + 56 * alone(16, 512)) / whole, 1e-9);
  EXPECT_NEAR(dil("uniform-fused-2d"), (alone(1024, 64) + 7 * alone(1024, 64, true)) / whole, 1e-9);
}

// Every rank multiplies 128 of the 1024 rows: sixteen from every rank.
TEST(Dependent, AllToAllMultipliesWhatARankReceives) {
  const auto report = simulate_dependent(small_request("all-to-all"), mi300x());
  ASSERT_TRUE(report) << to_string(report.error().errors.front());
  EXPECT_EQ(report->gemm, "128x256x512 bf16");
  EXPECT_EQ(report->bytes, 1_MiB);
  EXPECT_EQ(report->rows.size(), 6U);
}

// One after the other the product is made first, then the collective: together they are all of it but for what the host
// does at the end.
TEST(Dependent, BehindAProductTheCollectiveIsTheRestOfOneAfterTheOther) {
  DependentRequest request = small_request("reduce-scatter");
  request.dependence = Dependence::product_first;
  const auto report = simulate_dependent(request, mi300x());
  ASSERT_TRUE(report) << to_string(report.error().errors.front());
  EXPECT_TRUE(report->product_first);
  EXPECT_EQ(report->gemm, "1024x256x512 bf16");
  EXPECT_EQ(report->bytes, 512_KiB);  // 1024 x 256 elements of two bytes
  const report::DependentRow& serial = *report->row("serial");
  EXPECT_LT(serial.gemm, serial.comm);
  EXPECT_EQ(report->comm_alone, serial.comm - serial.gemm);
  EXPECT_GT(report->comm_alone.value, 0);
  // Sums are a part of the collective that the units of the product do.
  EXPECT_LT(report->ideal, std::max(report->gemm_alone, report->comm_alone));
  EXPECT_GT(report->ideal, report->gemm_alone);
  for (const report::DependentRow& row : report->rows) {
    EXPECT_GE(row.time, report->ideal) << row.schedule;
    EXPECT_GE(row.gemm, serial.gemm) << row.schedule;  // cutting makes no product faster
    EXPECT_LE(std::max(row.gemm, row.comm), row.time) << row.schedule;
  }
  request = small_request("all-to-all");
  request.dependence = Dependence::product_first;
  const auto tokens = simulate_dependent(request, mi300x());
  ASSERT_TRUE(tokens) << to_string(tokens.error().errors.front());
  EXPECT_EQ(tokens->gemm, "128x256x512 bf16");
  EXPECT_EQ(tokens->bytes, 512_KiB);
}

TEST(Dependent, EveryDirectionByEveryScheduleOnOddNumbersOfRanks) {
  const Machine machine = mi300x();
  DependentOptions options;
  options.schedules = all_schedules();
  for (const std::uint32_t ranks : {3U, 5U, 7U}) {
    for (const DependentRequest& request : all_directions({1021, 232, 232, DType::f16}, ranks)) {
      const auto report = simulate_dependent(request, machine, options);
      ASSERT_TRUE(report) << to_string(report.error().errors.front());
      EXPECT_EQ(report->rows.size(), 10U) << ranks << " " << request.collective.name();
      EXPECT_EQ(report->ranks, ranks);
      for (const report::DependentRow& row : report->rows) EXPECT_GE(row.time, report->ideal) << row.schedule;
    }
  }
}

TEST(Dependent, RanksWithoutRows) {
  const Machine machine = mi300x();
  DependentOptions options;
  options.schedules = all_schedules();
  options.chunks = 2;
  DependentRequest request = small_request("all-to-all");
  request.gemm.m = 100;
  request.ranks = 3;
  request.tokens = {{0, 40, 0}, {0, 0, 0}, {0, 60, 0}};  // all for rank 1, which has none; nobody multiplies but it
  for (const Dependence dependence : {Dependence::collective_first, Dependence::product_first}) {
    request.dependence = dependence;
    const auto report = simulate_dependent(request, machine, options);
    ASSERT_TRUE(report) << to_string(report.error().errors.front());
    EXPECT_EQ(report->rows.size(), 10U);
    // Rank 1 multiplies what it gets, or rank 2 the most of those who give.
    EXPECT_EQ(report->gemm, dependence == Dependence::collective_first ? "100x256x512 bf16" : "60x256x512 bf16");
  }
}

TEST(Dependent, ComputeUnitsMayMoveTheBytes) {
  DependentOptions options;
  options.schedules = {"serial", "hetero-fused-1d"};
  options.means = CollectiveMeans::cores;
  const auto report = simulate_dependent(small_request(), mi300x(), options);
  ASSERT_TRUE(report) << to_string(report.error().errors.front());
  EXPECT_TRUE(report->on_cores);
  for (const FiccoSchedule& schedule : report->schedules) EXPECT_EQ(schedule.means, CollectiveMeans::cores);
}

TEST(Dependent, NamesMaySayTheNumberOfChunks) {
  DependentOptions options;
  options.schedules = {"hetero-fused-1d/2", "hetero-fused-1d", "hetero-fused-1d/16"};
  options.chunks = 4;
  const auto report = simulate_dependent(small_request(), mi300x(), options);
  ASSERT_TRUE(report) << to_string(report.error().errors.front());
  EXPECT_THAT(schedules_of(*report), ElementsAre("hetero-fused-1d/2", "hetero-fused-1d", "hetero-fused-1d/16"));
  EXPECT_EQ(report->rows[0].chunks, 2U);
  EXPECT_EQ(report->rows[1].chunks, 4U);
  EXPECT_EQ(report->rows[2].chunks, 16U);
}

TEST(Dependent, AutoSaysWhatItIsAndStandsBesideSerial) {
  DependentOptions options;
  options.schedules = {kAutoSchedule};
  const auto report = simulate_dependent(small_request(), mi300x(), options);
  ASSERT_TRUE(report) << to_string(report.error().errors.front());
  EXPECT_THAT(schedules_of(*report), ElementsAre("serial", "auto"));
  EXPECT_EQ(report->row("serial")->chosen, "");
  const report::DependentRow& row = *report->row("auto");
  EXPECT_EQ(row.chosen, full_name(report->schedules[1]));
  EXPECT_NE(row.chosen_by, "");
  DependentOptions named;
  named.schedules = {row.chosen};
  const auto same = simulate_dependent(small_request(), mi300x(), named);
  ASSERT_TRUE(same) << to_string(same.error().errors.front());
  EXPECT_EQ(row.time, same->rows.front().time);
  EXPECT_LE(row.time, report->serial);
  options.means = CollectiveMeans::cores;
  EXPECT_EQ(code_of(simulate_dependent(small_request(), mi300x(), options)), "ficco.schedule");
}

TEST(Dependent, FullNamesAreFoundAgain) {
  EXPECT_EQ(full_name({.grain = Grain::whole}), "serial");
  const FiccoSchedule schedule = *find_schedule("uniform-unfused-2d/12");
  EXPECT_EQ(full_name(schedule), "uniform-unfused-2d/12");
}

// serial needs 1792 KiB, shard-p2p 1152 KiB (MemoryOfASchedule).
TEST(Dependent, OneAfterTheOtherNeedNotFit) {
  Machine machine = mi300x();
  const auto all = simulate_dependent(small_request(), machine);
  ASSERT_TRUE(all) << to_string(all.error().errors.front());
  machine.memory_bytes = 1500_KiB;
  const auto report = simulate_dependent(small_request(), machine);
  ASSERT_TRUE(report) << to_string(report.error().errors.front());
  EXPECT_EQ(report->row("serial"), nullptr);
  ASSERT_FALSE(report->skipped.empty());
  EXPECT_EQ(report->skipped.front().name, "serial");
  EXPECT_EQ(report->skipped.front().reason.code, "ficco.memory");
  EXPECT_EQ(report->serial, all->serial);
  EXPECT_EQ(report->row("shard-p2p")->speedup, all->row("shard-p2p")->speedup);
  EXPECT_THAT(report->note, HasSubstr("serial needs more memory"));
  machine.memory_bytes = 900_KiB;
  EXPECT_EQ(code_of(simulate_dependent(small_request(), machine)), "ficco.memory");
}

TEST(Dependent, NoResultDependsOnTheNumberOfThreads) {
  const Machine machine = mi300x();
  std::vector<std::string> documents;
  for (const std::uint32_t threads : {1U, 2U, 7U}) {
    DependentOptions options;
    options.threads = threads;
    const auto report = simulate_dependent(small_request(), machine, options);
    ASSERT_TRUE(report) << to_string(report.error().errors.front());
    documents.push_back(report::dependent_json(*report));
  }
  EXPECT_EQ(documents[0], documents[1]);
  EXPECT_EQ(documents[0], documents[2]);
}

TEST(Dependent, WhatOneScheduleCannotDoIsListedWithTheReason) {
  const Machine machine = mi300x();
  DependentRequest request = small_request();
  request.gemm.k = 511;  // rows of 1022 bytes: no strided copy starts there
  const auto some = simulate_dependent(request, machine);
  ASSERT_TRUE(some) << to_string(some.error().errors.front());
  ASSERT_EQ(some->skipped.size(), 1U);
  EXPECT_EQ(some->skipped[0].name, "uniform-fused-2d");
  EXPECT_EQ(some->skipped[0].reason.code, "ficco.panels");

  DependentOptions options;
  options.schedules = {"uniform-fused-2d"};
  EXPECT_EQ(code_of(simulate_dependent(request, machine, options)), "ficco.panels");
  options.schedules = {"hetero-fused-1d"};
  options.chunks = 129;  // of the 128 rows of a rank
  EXPECT_EQ(code_of(simulate_dependent(small_request(), machine, options)), "ficco.chunks");
}

TEST(Dependent, RefusesWhatCannotBe) {
  const Machine machine = mi300x();
  const auto code = [&](const DependentRequest& request, const DependentOptions& options = {}) {
    return code_of(simulate_dependent(request, machine, options));
  };
  EXPECT_EQ(code(small_request("all-reduce")), "ficco.collective");
  DependentRequest request = small_request();
  request.ranks = 1;
  EXPECT_EQ(code(request), "ficco.ranks");
  request = small_request();
  request.gemm.m = 0;
  EXPECT_EQ(code(request), "gemm.shape");
  request.gemm = {1 << 20, 1 << 17, 1 << 10, DType::bf16};  // C alone is 256 GiB
  EXPECT_EQ(code(request), "ficco.memory");
  request = small_request("all-gather");
  request.dependence = Dependence::product_first;
  EXPECT_EQ(code(request), "ficco.collective");
  DependentOptions options;
  options.schedules = {"serial", "hetero-fused-3d"};
  EXPECT_EQ(code(small_request(), options), "ficco.schedule");
  options.schedules = {"ideal"};
  EXPECT_EQ(code(small_request(), options), "ficco.schedule");
  options = {};
  options.progress = [](std::size_t, std::size_t) { return false; };
  EXPECT_EQ(code(small_request(), options), "overlap.interrupted");
}

TEST(Dependent, AllSchedulesReallyRun) {
  const Machine machine = mi300x();
  RunSettings settings;
  settings.run.iterations = 2;
  settings.run.check = device::CheckOutputs::every;
  const auto driver = open_device({"soft", 3, {}}, machine);
  ASSERT_TRUE(driver) << to_string(driver.error());
  DependentOptions options;
  options.schedules = all_schedules();
  for (const DependentRequest& request : all_directions({65, 24, 40, DType::f32}, 3)) {
    const auto report = run_dependent(request, machine, **driver, settings, options);
    ASSERT_TRUE(report) << to_string(report.error().errors.front());
    EXPECT_EQ(report->rows.size(), 10U);
    EXPECT_FALSE(report->simulated);
    EXPECT_THAT(report->where, HasSubstr("embedded node"));
    for (const report::DependentRow& row : report->rows) {
      EXPECT_EQ(row.wrong, 0U) << row.schedule;
      EXPECT_FALSE(row.hbm_bytes) << row.schedule;
      EXPECT_GT(row.time.value, 0) << row.schedule;
    }
  }
}

// Serial 100 us, of which the product takes 60: 75 us is half of the gain.
TEST(DependentReason, SaysWhatBoundsAndWhatOthersLose) {
  report::DependentReport report;
  report.gemm_alone = {60'000};
  report.comm_alone = {40'000};
  report.serial = {100'000};
  report.ideal = {60'000};
  const auto add = [&](const char* schedule, std::int64_t time, double share, double dil) {
    report::DependentRow row;
    row.schedule = schedule;
    row.time = {time};
    row.share_of_ideal = share;
    row.dil = dil;
    report.rows.push_back(row);
  };
  add("serial", 100'000, 0, 1);
  add("shard-p2p", 225'000, -0.8, 1.1);
  add("hetero-fused-1d", 75'000, 0.5, 1.04);
  report.choice = "hetero-fused-1d";
  EXPECT_EQ(dependent_reason(report),
            "the product is the bottleneck, and 50 % of ideal is reached; its pieces take 4 % longer than the product "
            "in one; serial takes 33 % longer; shard-p2p takes 200 % longer");
  report.ideal = {100'000};
  EXPECT_THAT(dependent_reason(report), testing::StartsWith("one after the other takes no longer than the product"));
  report.rows[2].time = {110'000};
  report.choice = "serial";
  EXPECT_EQ(dependent_reason(report),
            "nothing that overlaps is faster than one after the other; hetero-fused-1d takes 10 % longer, and its "
            "pieces take 4 % longer than the product in one");
}

}  // namespace dependent_test
}  // namespace cortado::pipeline
