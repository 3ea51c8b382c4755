#include "report/bench_rows.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/energy_testing.hpp"

namespace cortado::report {
namespace bench_rows_test {

using testing::HasSubstr;

/// 1 MiB in 20 us on 8 ranks: algbw = 1048576 / 20000 = 52.4288 GB/s, busbw = 7/8 of it = 45.8752 GB/s.
BenchReport sample() {
  BenchReport report;
  report.header = {"all-gather", "mi300x-8", 8, "embedded node", false, 5, 20};
  report.rows.push_back({{1 << 20}, "bcst", true, true, {20'000}, {32, 32, 32, 32, 64, 0}, 3});
  report.skipped.push_back({{7}, "swap", false, {"plan.size", "7 bytes do not divide", "use 64"}});
  return report;
}

TEST(BenchRows, TableHasUnitsAndTheNumbers) {
  BenchReport report = sample();
  const std::string heading = bench_heading(report.header);
  for (const char* part : {"size", " B ", "time us", "algbw", "busbw", "GB/s", "#wrong", "measured on embedded node"}) {
    EXPECT_THAT(heading, HasSubstr(part));
  }
  const std::string line = bench_line(report.header, report.rows[0]);
  for (const char* part : {"1048576", "bcst", "yes", "20.00", "52.43", "45.88", "32", " 3\n"}) {
    EXPECT_THAT(line, HasSubstr(part));
  }
  // Columns are aligned with their headings: the last heading line and a row are equally long.
  EXPECT_EQ(heading.size() - heading.rfind('\n', heading.size() - 2) - 1, line.size());
  report.skipped.push_back(report.skipped[0]);
  report.skipped.back().bytes = Bytes{9};
  report.skipped.back().prelaunch = true;
  EXPECT_THAT(bench_notes(report), HasSubstr("at 7B and 1 other size: "));
  EXPECT_THAT(bench_notes(report), HasSubstr("7 bytes do not divide"));
}

TEST(BenchRows, SimulatedRowsHaveNoWrongBytes) {
  BenchReport report = sample();
  report.header.simulated = true;
  report.header.node = "mi300x-8";
  report.header.iterations = 1;
  report.rows[0].wrong = std::nullopt;
  const std::string heading = bench_heading(report.header);
  EXPECT_THAT(heading, HasSubstr("simulated on mi300x-8\n# one iteration of an idle machine;"));
  EXPECT_THAT(bench_line(report.header, report.rows[0]),
              HasSubstr(" 45.88        32       32     32         -       -\n"));
  const auto document = nlohmann::json::parse(to_json(bench_document(report)));
  EXPECT_EQ(document["simulated"], true);
  EXPECT_TRUE(document["rows"].at(0)["wrong"].is_null());
  EXPECT_TRUE(document["rows"].at(0)["energy_J"].is_null());
  EXPECT_THAT(to_csv(bench_document(report)), testing::EndsWith(",32,32,32,,,,,,,\n"));
  report.header.threads = "one host thread per GPU";
  EXPECT_THAT(bench_heading(report.header), HasSubstr("idle machine; one host thread per GPU; size ="));
  report.header.threads.clear();
  report.header.iterations = 3;
  EXPECT_THAT(bench_heading(report.header), HasSubstr("# median of 3 iterations in a row, from an idle machine;"));
}

// A terminal has 120 columns.
TEST(BenchRows, SimulatedRowsHaveEnergyAndPower) {
  BenchReport report = sample();
  report.header.simulated = true;
  report.rows[0].wrong = std::nullopt;
  report.rows[0].energy = small_energy_use();
  const std::string heading = bench_heading(report.header);
  const std::string line = bench_line(report.header, report.rows[0]);
  EXPECT_THAT(heading, testing::ContainsRegex(" per\n"));
  EXPECT_THAT(heading, testing::ContainsRegex("energy J +GPU W\n"));
  EXPECT_THAT(line, testing::ContainsRegex(" 45.88 +32 +32 +32 +0.3000 +500.0\n"));
  EXPECT_EQ(heading.size() - heading.rfind('\n', heading.size() - 2) - 1, line.size());
  EXPECT_LE(line.size(), 120U);
  const auto row = nlohmann::json::parse(to_json(bench_document(report)))["rows"].at(0);
  EXPECT_NEAR(row["energy_J"].get<double>(), 0.3, 1e-12);
  EXPECT_NEAR(row["power_W"].get<double>(), 500, 1e-9);
  EXPECT_NEAR(row["energy_by_component"]["xcd"].get<double>(), 0.12, 1e-12);
  EXPECT_THAT(to_csv(bench_document(report)), testing::EndsWith(",32,32,32,,0.3,500,0.12,0.09,0.06,0.03\n"));
}

TEST(BenchRows, JsonRowsCarryTheAgreedKeys) {
  const auto document = nlohmann::json::parse(to_json(bench_document(sample())));
  EXPECT_EQ(document["schema"], "cortado.bench");
  const auto& row = document["rows"].at(0);
  EXPECT_EQ(row["bytes"], 1 << 20);
  EXPECT_EQ(row["variant"], "bcst");
  EXPECT_EQ(row["prelaunch"], true);
  EXPECT_DOUBLE_EQ(row["time_us"], 20);
  EXPECT_DOUBLE_EQ(row["algbw_GBps"], 52.4288);
  EXPECT_DOUBLE_EQ(row["busbw_GBps"], 45.8752);
  EXPECT_EQ(row["commands"], 32);
  EXPECT_EQ(row["signals"], 32);
  EXPECT_EQ(row["doorbells"], 32);
  EXPECT_EQ(row["wrong"], 3);
  EXPECT_EQ(document["skipped"].at(0)["code"], "plan.size");
}

TEST(BenchRows, CsvHasOneLineARow) {
  EXPECT_EQ(
      to_csv(bench_document(sample())),
      "collective,ranks,bytes,variant,prelaunch,in_place,time_us,algbw_GBps,busbw_GBps,commands,signals,doorbells,"
      "wrong,energy_J,power_W,xcd_J,iod_J,hbm_J,rest_J\n"
      "all-gather,8,1048576,bcst,true,true,20,52.4288,45.8752,32,32,32,3,,,,,,\n");
}

}  // namespace bench_rows_test
}  // namespace cortado::report
