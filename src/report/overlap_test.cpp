#include "cortado/report/overlap.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/energy_testing.hpp"
#include "report/overlap_testing.hpp"

namespace cortado::report {
namespace overlap_test {

using testing::HasSubstr;

// The product takes 60 us, the collective 40 us: 100 us in a row are a speed-up of 1, 60 us the ideal one of 5/3.
TEST(Overlap, ShareOfIdealIsOfTheGain) {
  const auto share = [](std::int64_t time) { return share_of_ideal({100'000}, {60'000}, {time}); };
  EXPECT_DOUBLE_EQ(share(100'000), 0);
  EXPECT_DOUBLE_EQ(share(60'000), 1);
  EXPECT_NEAR(share(75'000), 0.5, 1e-12);            // (4/3 - 1) / (5/3 - 1)
  EXPECT_NEAR(share(50'000), 1.5, 1e-12);            // (2 - 1) / (5/3 - 1)
  EXPECT_NEAR(share(125'000), -0.3, 1e-12);          // (0.8 - 1) / (5/3 - 1)
  EXPECT_EQ(share_of_ideal({100}, {100}, {90}), 0);  // nothing to gain
}

OverlapReport small_report() {
  OverlapReport report;
  set_small_basis(report);
  report.bytes = 64_KiB;
  OverlapRow row;
  row.policy = "conccl";
  row.variant = "pcpy";
  row.time = {75'000};
  row.speedup = 4.0 / 3;
  row.share_of_ideal = 0.5;
  row.gemm = {75'000};
  row.comm = {50'000};
  row.gemm_slowdown = 1.25;
  row.comm_slowdown = 1.25;
  row.gemm_units = 304;
  row.hbm_bytes = 2e9;
  row.energy = small_energy_use();
  row.why = "engines";
  report.rows = {row};
  report.skipped = {{"c3", {"c3.variant", "no kernels", "use conccl"}}};
  report.choice = "conccl";
  report.reason = "because";
  return report;
}

TEST(Overlap, TextHasATableWhatWasLeftOutAndOneLineToUse) {
  const std::string text = overlap_text(small_report());
  EXPECT_THAT(text, HasSubstr("64x64x64 bf16 beside all-gather of 64KiB"));
  EXPECT_THAT(text, HasSubstr("one after the other 100.0 us, ideal 60.0 us: 1.67 times as fast"));
  EXPECT_THAT(text,
              testing::ContainsRegex("conccl +pcpy +75.0 +1.33 +50 +1.25 +1.25 +304 +dma +2.00 +0.3000 +500.0\n"));
  EXPECT_THAT(text, HasSubstr("# c3 left out: c3.variant: no kernels (hint: use conccl)\n"));
  EXPECT_THAT(text, testing::EndsWith("use conccl: because\n"));
}

TEST(Overlap, JsonHasEveryField) {
  const auto document = nlohmann::json::parse(overlap_json(small_report()));
  for (const char* key : {"serial_us", "ideal_us", "gemm_alone_us", "comm_alone_us", "choice", "reason", "class",
                          "memory_bound", "gemm", "collective", "bytes", "machine", "where"}) {
    EXPECT_TRUE(document.contains(key)) << key;
  }
  EXPECT_EQ(document["serial_us"], 100.0);
  EXPECT_EQ(document["ideal_us"], 60.0);
  const auto row = document["rows"][0];
  for (const char* key : {"policy", "time_us", "speedup", "share_of_ideal", "gemm_us", "comm_us", "gemm_slowdown",
                          "comm_slowdown", "hbm_bytes", "gemm_units", "comm_units", "variant", "why"}) {
    EXPECT_TRUE(row.contains(key)) << key;
  }
  EXPECT_EQ(row["share_of_ideal"], 0.5);
  EXPECT_EQ(row["hbm_bytes"], 2e9);
  EXPECT_TRUE(row["wrong"].is_null());
  EXPECT_NEAR(row["energy_J"].get<double>(), 0.3, 1e-12);
  EXPECT_EQ(document["objective"], "time");
  EXPECT_EQ(document["skipped"][0]["code"], "c3.variant");
}

TEST(Overlap, MeasuredRowsSayWhatWasWrong) {
  OverlapReport report = small_report();
  report.simulated = false;
  report.where = "embedded node";
  report.iterations = 5;
  report.rows[0].hbm_bytes = {};
  report.rows[0].energy = {};
  report.rows[0].wrong = 3;
  EXPECT_THAT(overlap_text(report), HasSubstr("measured on embedded node; medians of 5 iterations"));
  EXPECT_THAT(overlap_text(report), testing::ContainsRegex("wrong\n.* bytes\n"));
  const auto row = nlohmann::json::parse(overlap_json(report))["rows"][0];
  EXPECT_TRUE(row["hbm_bytes"].is_null());
  EXPECT_EQ(row["wrong"], 3);
  EXPECT_TRUE(row["energy_J"].is_null());
}

}  // namespace overlap_test
}  // namespace cortado::report
