#include "cortado/report/fused.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/fused_testing.hpp"

namespace cortado::report {
namespace fused_test {

using testing::ContainsRegex;
using testing::HasSubstr;

TEST(Fused, TextHasATableWithTrafficAndEntries) {
  const std::string text = fused_text(small_fused_report());
  EXPECT_THAT(text, testing::StartsWith("# 64x64x64 f16, then reduce-scatter of 8KiB, on 8 ranks of t3-ring-8\n"));
  // Reads 3 + 1 GB, writes 2 + 0.5 GB.
  EXPECT_THAT(text, ContainsRegex("t3 +75.0 +1.33 +50 +74.0 +15.0 +4.00 +2.50 +96 +0.3000 +500.0 +ring, 8 chunks\n"));
  EXPECT_THAT(text, ContainsRegex("ideal-overlap +60.0 +1.67 +100 +- +- +- +- +- +- +-"));
  EXPECT_THAT(text, HasSubstr("# t3-mca left out: fused.arbitration: none (hint: other machine)\n"));
  EXPECT_THAT(text, testing::EndsWith("use t3: because\n"));
}

TEST(Fused, MeasuredTextHasWrongBytesInsteadOfTraffic) {
  FusedReport report = small_fused_report();
  report.simulated = false;
  report.rows.front().wrong = 7;
  EXPECT_THAT(fused_text(report), ContainsRegex("wrong *\n.* bytes"));
  EXPECT_THAT(fused_text(report), testing::Not(HasSubstr("DRAM")));
  EXPECT_THAT(fused_text(report), ContainsRegex("t3 +75.0 +1.33 +50 +74.0 +15.0 +7 +ring"));
}

TEST(Fused, JsonHasEveryField) {
  const auto document = nlohmann::json::parse(fused_json(small_fused_report()));
  EXPECT_EQ(document["schema"], "cortado.fused");
  const auto row = document["rows"][0];
  EXPECT_EQ(row["schedule"], "t3");
  EXPECT_EQ(row["bound"], false);
  EXPECT_EQ(row["dram_reads"], 4e9);
  EXPECT_EQ(row["dram_writes"], 2.5e9);
  EXPECT_EQ(row["dram_producer_reads"], 3e9);
  EXPECT_EQ(row["dram_producer_writes"], 2e9);
  EXPECT_EQ(row["dram_collective_reads"], 1e9);
  EXPECT_EQ(row["dram_collective_writes"], 0.5e9);
  EXPECT_EQ(row["tracker_entries_peak"], 96);
  EXPECT_EQ(row["tracker_wait_us"], 2.0);
  EXPECT_EQ(row["wrong"], nullptr);
  const auto bound = document["rows"][1];
  EXPECT_EQ(bound["bound"], true);
  EXPECT_EQ(bound["gemm_us"], nullptr);
  EXPECT_EQ(bound["dram_reads"], nullptr);
  EXPECT_NEAR(row["energy_by_component"]["hbm"].get<double>(), 0.06, 1e-12);
  EXPECT_EQ(bound["energy_J"], nullptr);
  EXPECT_EQ(document["skipped"][0]["schedule"], "t3-mca");
}

}  // namespace fused_test
}  // namespace cortado::report
