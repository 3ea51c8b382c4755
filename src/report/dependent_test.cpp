#include "cortado/report/dependent.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/energy_testing.hpp"
#include "report/overlap_testing.hpp"

namespace cortado::report {
namespace dependent_test {

using testing::HasSubstr;

DependentReport small_report() {
  DependentReport report;
  set_small_basis(report);
  DependentRow row;
  row.schedule = "hetero-fused-1d";
  row.chunks = 8;
  row.time = {75'000};
  row.speedup = 4.0 / 3;
  row.share_of_ideal = 0.5;
  row.gemm = {74'000};
  row.comm = {50'000};
  row.exposed = {15'000};
  row.dil = 1.125;
  row.cil_gemm = 1.25;
  row.cil_comm = 1.5;
  row.footprint = {3'000'000'000};
  row.staging = {500'000'000};
  row.hbm_bytes = 2e9;
  row.energy = small_energy_use();
  report.rows = {row};
  report.skipped = {{"uniform-fused-2d", {"ficco.panels", "odd rows", "pad k"}}};
  report.choice = "hetero-fused-1d";
  report.reason = "because";
  return report;
}

TEST(Dependent, TextHasATableWhatWasLeftOutAndOneLineToUse) {
  const std::string text = dependent_text(small_report());
  EXPECT_THAT(text, HasSubstr("# all-gather of 8KiB, then 64x64x64 bf16 of what it brings, on 8 ranks of mi300x-8\n"));
  EXPECT_THAT(text, HasSubstr("one after the other 100.0 us, ideal 60.0 us: 1.67 times as fast"));
  EXPECT_THAT(text, testing::ContainsRegex("hetero-fused-1d +8 +75.0 +1.33 +50 +74.0 +50.0 +15.0 +1.1[23] +1.25 +1.50 "
                                           "+3.00 +0.50 +2.00 +0.3000 +500.0\n"));
  EXPECT_THAT(text, HasSubstr("# uniform-fused-2d left out: ficco.panels: odd rows (hint: pad k)\n"));
  EXPECT_THAT(text, testing::EndsWith("use hetero-fused-1d: because\n"));
}

TEST(Dependent, TextSaysWhoIsFirstAndWhoMovesTheBytes) {
  DependentReport report = small_report();
  report.product_first = true;
  report.collective = "reduce-scatter";
  report.on_cores = true;
  EXPECT_THAT(dependent_text(report),
              testing::StartsWith("# 64x64x64 bf16, then reduce-scatter of 8KiB, on 8 ranks of mi300x-8; compute units "
                                  "move the bytes\n"));
  const auto document = nlohmann::json::parse(dependent_json(report));
  EXPECT_EQ(document["dependence"], "product-first");
  EXPECT_EQ(document["moved_by"], "cores");
}

TEST(Dependent, JsonHasEveryField) {
  const auto document = nlohmann::json::parse(dependent_json(small_report()));
  EXPECT_EQ(document["schema"], "cortado.dependent");
  EXPECT_EQ(document["dependence"], "collective-first");
  EXPECT_EQ(document["moved_by"], "dma");
  EXPECT_EQ(document["serial_us"], 100.0);
  EXPECT_EQ(document["ideal_us"], 60.0);
  const auto row = document["rows"][0];
  EXPECT_EQ(row["schedule"], "hetero-fused-1d");
  EXPECT_EQ(row["chunks"], 8);
  EXPECT_EQ(row["time_us"], 75.0);
  EXPECT_EQ(row["gemm_us"], 74.0);
  EXPECT_EQ(row["comm_us"], 50.0);
  EXPECT_EQ(row["exposed_comm_us"], 15.0);
  EXPECT_EQ(row["dil"], 1.125);
  EXPECT_EQ(row["cil_gemm"], 1.25);
  EXPECT_EQ(row["cil_comm"], 1.5);
  EXPECT_EQ(row["footprint_bytes"], 3'000'000'000);
  EXPECT_EQ(row["staging_bytes"], 500'000'000);
  EXPECT_EQ(row["hbm_bytes"], 2e9);
  EXPECT_TRUE(row["wrong"].is_null());
  EXPECT_NEAR(row["power_W"].get<double>(), 500, 1e-9);
  EXPECT_EQ(document["skipped"][0]["schedule"], "uniform-fused-2d");
  EXPECT_EQ(document["skipped"][0]["code"], "ficco.panels");
}

TEST(Dependent, ARowThatWasLeftOpenSaysWhatItIs) {
  DependentReport report = small_report();
  EXPECT_TRUE(nlohmann::json::parse(dependent_json(report))["rows"][0]["chosen"].is_null());
  report.rows[0].schedule = "auto";
  report.rows[0].chosen = "hetero-fused-1d/16";
  report.rows[0].chosen_by = "search";
  EXPECT_THAT(dependent_text(report), HasSubstr("# auto is hetero-fused-1d/16, by search\n"));
  const auto row = nlohmann::json::parse(dependent_json(report))["rows"][0];
  EXPECT_EQ(row["chosen"], "hetero-fused-1d/16");
  EXPECT_EQ(row["chosen_by"], "search");
}

TEST(Dependent, MeasuredRowsSayWhatWasWrong) {
  DependentReport report = small_report();
  report.simulated = false;
  report.rows[0].hbm_bytes = {};
  report.rows[0].cil_gemm = {};
  report.rows[0].cil_comm = {};
  report.rows[0].wrong = 3;
  EXPECT_THAT(dependent_text(report), testing::ContainsRegex("wrong\n.* bytes\n"));
  EXPECT_THAT(dependent_text(report), testing::ContainsRegex(" +1.1[23] +- +- +3.00"));
  const auto row = nlohmann::json::parse(dependent_json(report))["rows"][0];
  EXPECT_TRUE(row["hbm_bytes"].is_null());
  EXPECT_TRUE(row["cil_gemm"].is_null());
  EXPECT_TRUE(row["cil_comm"].is_null());
  EXPECT_EQ(row["wrong"], 3);
}

}  // namespace dependent_test
}  // namespace cortado::report
