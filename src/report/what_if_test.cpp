#include "cortado/report/what_if.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/fused_testing.hpp"

namespace cortado::report {
namespace what_if_test {

using testing::ContainsRegex;

/// Sequential takes 100 us today, T3 75 us tomorrow.
WhatIfReport small_report() {
  WhatIfReport report{{"tracker", "nmc"}, small_fused_report(), small_fused_report()};
  report.today.machine = "ring-8";
  report.today.rows.resize(1);
  FusedRow& today = report.today.rows.front();
  today.way = "sequential";
  today.how.clear();
  today.time = {100'000};
  today.tracker_entries_peak.reset();
  report.today.choice = "sequential";
  report.today.skipped.clear();
  return report;
}

TEST(WhatIf, TextLaysTodayBesideTomorrow) {
  const std::string text = what_if_text(small_report());
  EXPECT_THAT(text, testing::StartsWith(
                        "# what if ring-8 had tracker, nmc: 64x64x64 f16, then reduce-scatter of 8KiB, on 8 ranks\n"));
  EXPECT_THAT(text, ContainsRegex("today +sequential +100.0 +1.00"));
  EXPECT_THAT(text, ContainsRegex("tomorrow +t3 +75.0 +1.33 +4.00 +2.50 +96 +0.3000 +500.0 +ring, 8 chunks\n"));
  EXPECT_THAT(text, ContainsRegex("tomorrow +ideal-overlap +60.0 +1.67 .*ideal\n"));
  EXPECT_THAT(text, testing::HasSubstr("# tomorrow, t3-mca left out: fused.arbitration"));
  EXPECT_THAT(
      text, testing::EndsWith("tomorrow's best, t3 (ring, 8 chunks), is 1.33 times as fast as today's, sequential\n"));
}

TEST(WhatIf, JsonHoldsBothReports) {
  const auto document = nlohmann::json::parse(what_if_json(small_report()));
  EXPECT_EQ(document["schema"], "cortado.what-if");
  EXPECT_EQ(document["features"], (std::vector<std::string>{"tracker", "nmc"}));
  EXPECT_NEAR(document["gain"].get<double>(), 4.0 / 3, 1e-12);
  EXPECT_EQ(document["today"]["rows"][0]["schedule"], "sequential");
  EXPECT_EQ(document["tomorrow"]["rows"][0]["tracker_entries_peak"], 96);
}

}  // namespace what_if_test
}  // namespace cortado::report
