#include "cortado/pipeline/dependent.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cortado/pipeline/devices.hpp"

#include "pipeline/overlap/dependent_parts.hpp"

namespace cortado::pipeline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Machine mi300x() {
  Result<Machine> machine = load_machine("mi300x-8");
  EXPECT_TRUE(machine) << to_string(machine.error());
  return *std::move(machine);
}

DependentRequest small_request(std::string collective = "all-gather", DType dtype = DType::bf16) {
  DependentRequest request;
  request.gemm = {1024, 256, 512, dtype};
  request.collective = std::move(collective);
  return request;
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

TEST(Dependent, UnevenSizesOnOddNumbersOfRanks) {
  const Machine machine = mi300x();
  DependentOptions options;
  options.schedules = all_schedules();
  for (const std::uint32_t ranks : {3U, 5U, 7U}) {
    DependentRequest request = small_request();
    request.gemm = {1021, 99, 232, DType::f16};
    request.ranks = ranks;
    const auto report = simulate_dependent(request, machine, options);
    ASSERT_TRUE(report) << to_string(report.error().errors.front());
    EXPECT_EQ(report->rows.size(), 10U) << ranks;
    EXPECT_EQ(report->ranks, ranks);
  }
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
  request = small_request("reduce-scatter");
  request.dependence = Dependence::product_first;
  EXPECT_EQ(code(request), "overlap.dependence");
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
  for (const char* collective : {"all-gather", "all-to-all"}) {
    DependentRequest request = small_request(collective, DType::f32);
    request.gemm = {65, 24, 40, DType::f32};
    request.ranks = 3;
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
  report.rows[2].time = {110'000};
  report.choice = "serial";
  EXPECT_EQ(dependent_reason(report),
            "nothing that overlaps is faster than one after the other; hetero-fused-1d takes 10 % longer, and its "
            "pieces take 4 % longer than the product in one");
}

}  // namespace
}  // namespace cortado::pipeline
