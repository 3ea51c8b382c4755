#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cortado/report.hpp"

namespace cortado::report {
namespace power_test {

using testing::ContainsRegex;
using testing::HasSubstr;

/// Two GPUs for 2 ms: 1.2 J of the compute dies are 300 W each, 0.4 J of the I/O dies 100 W, 0.2 J of the memory 50 W,
/// 0.2 J of the rest 50 W.
EnergyUse two_joules() {
  EnergyUse use;
  use.energy[EnergyPart::xcd_products] = 1;
  use.energy[EnergyPart::xcd_idle] = 0.2;
  use.energy[EnergyPart::iod_links] = 0.4;
  use.energy[EnergyPart::hbm_bytes] = 0.2;
  use.energy[EnergyPart::rest_loss] = 0.2;
  use.seconds = 2e-3;
  use.gpus = 2;
  return use;
}

PowerReport small_report() {
  PowerReport report;
  report.gemm = "64x64x64 bf16";
  report.collective = "all-gather";
  report.variant = "cores-simple";
  report.bytes = 8_KiB;
  report.ranks = 2;
  report.machine = "toy-2";
  report.where = "simulated toy-2";
  report.idle_w = 100;
  report.cap_w = 600;
  report.limit_w = 480;
  PowerRow row;
  row.what = "both";
  row.policy = "none";
  row.use = two_joules();
  row.clocks_ghz = {{1.5, 2, 0.9}};
  row.peak_w = 510;
  row.change = PowerChange{0, 0};
  row.tflops = 12.5;
  row.iterations = 20;
  row.over_time = {{{0}, {200, 100, 50, 50}}, {{1'000'000}, {400, 100, 50, 50}}};
  report.rows.push_back(row);
  row.policy = "uniform-cap";
  row.change = PowerChange{2.5, -10.25};
  report.rows.push_back(row);
  row.what = "collective";
  row.policy = "unmanaged";
  row.clocks_ghz.reset();
  row.peak_w.reset();
  row.change.reset();
  row.tflops.reset();
  row.over_time.clear();
  report.rows.push_back(row);
  report.skipped = {{"component-shift", {"power.component", "no clock of hbm", "add it"}}};
  return report;
}

TEST(Power, TextHasWattsOfOneGpuAndJoulesOfAll) {
  const std::string text = to_text(power_document(small_report()), {.wide = true});
  EXPECT_THAT(text,
              testing::StartsWith(
                  "# power of 64x64x64 bf16 and all-gather cores-simple of 8KiB, both launched at once, on 2 ranks of "
                  "toy-2\n# simulated toy-2; board cap 600 W, uniform-cap limit 480 W; an idle GPU draws 100 W\n"));
  // 2 J over 2 ms on 2 GPUs are 500 W; 2 J times 2 ms are 0.004 Js.
  EXPECT_THAT(text, ContainsRegex("both +none +2000.0 +2.000 +500 +300 +100 +50 +50 +510 +1.500 +2.000 +0.900 +0.004 "
                                  "+0.0 +0.0 +12.5\n"));
  EXPECT_THAT(text, ContainsRegex("both +uniform-cap .* \\+2.5 +-10.2 +12.5\n"));
  EXPECT_THAT(
      text, ContainsRegex("collective +unmanaged +2000.0 +2.000 +500 +300 +100 +50 +50 +- +- +- +- +0.004 +- +- +-\n"));
  EXPECT_THAT(text, HasSubstr("# component-shift left out: power.component: no clock of hbm"));
}

TEST(Power, TextOfOneThingAlone) {
  PowerReport report = small_report();
  report.collective.clear();
  report.cap_w.reset();
  report.limit_w.reset();
  report.ranks = 1;
  EXPECT_THAT(to_text(power_document(report)),
              testing::StartsWith("# power of 64x64x64 bf16, on 1 rank of toy-2\n# simulated toy-2; no cap, clocks as "
                                  "in the machine file; an idle GPU"));
}

TEST(Power, JsonAddsUp) {
  const auto document = nlohmann::json::parse(to_json(power_document(small_report())));
  EXPECT_EQ(document["schema"], "cortado.power");
  EXPECT_EQ(document["bytes"], 8192);
  EXPECT_EQ(document["cap_W"], 600);
  EXPECT_EQ(document["skipped"][0]["policy"], "component-shift");
  const auto& row = document["rows"][0];
  EXPECT_DOUBLE_EQ(row["time_us"], 2000);
  EXPECT_DOUBLE_EQ(row["energy_J"], 2);
  EXPECT_DOUBLE_EQ(row["power_W"], 500);
  EXPECT_DOUBLE_EQ(row["energy_by_component"]["xcd"], 1.2);
  EXPECT_DOUBLE_EQ(row["power_W_by_component"]["iod"], 100);
  EXPECT_DOUBLE_EQ(row["edp_Js"], 0.004);
  EXPECT_DOUBLE_EQ(row["clock_GHz"]["hbm"], 0.9);
  const auto& sample = document["over_time"][1];
  EXPECT_EQ(sample["what"], "both");
  EXPECT_EQ(sample["policy"], "none");
  EXPECT_EQ(sample["time_us"], 1000);
  EXPECT_EQ(sample["power_W_by_component"]["xcd"], 400);
  EXPECT_EQ(document["over_time"].size(), 4U);  // two rows have two samples each
  EXPECT_DOUBLE_EQ(document["rows"][1]["energy_change_pct"], -10.25);
  const auto& unmanaged = document["rows"][2];
  for (const char* field : {"clock_GHz", "peak_W", "time_change_pct", "energy_change_pct", "tflops"}) {
    EXPECT_TRUE(unmanaged[field].is_null()) << field;
  }
}

TEST(Power, ChartsAreOfMeansAndOfEveryRunOverTime) {
  const Document document = power_document(small_report());
  ASSERT_EQ(document.tables[0].charts.size(), 1U);
  EXPECT_EQ(document.tables[0].charts[0].values.size(), kComponents.size());
  const Table& over_time = document.tables[2];
  ASSERT_EQ(over_time.charts.size(), 1U);
  EXPECT_EQ(over_time.charts[0].kind, Chart::Kind::areas);
  EXPECT_THAT(over_time.charts[0].series, testing::ElementsAre("what", "policy"));
  // Of the cap of 600 W uniform-cap allows 480.
  EXPECT_EQ(std::get<double>(over_time.at(0, "allowed_W").value()), 600);
  EXPECT_EQ(std::get<double>(over_time.at(3, "allowed_W").value()), 480);
}

}  // namespace power_test
}  // namespace cortado::report
