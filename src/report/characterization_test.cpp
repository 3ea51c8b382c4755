#include "report/characterization.hpp"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/energy.hpp"

namespace cortado::report {
namespace characterization_test {

using testing::HasSubstr;
using testing::Not;

Characterization small_report() {
  Characterization report;
  report.gemm = "64x64x64 bf16";
  report.collective = "all-gather";
  report.bytes = 8_KiB;
  report.ranks = 8;
  report.machine = "a<b";
  report.kernel = "32x32";
  report.gemm_alone = {50'000};
  report.serial = {100'000};
  report.whole.idle = 0.25;
  DecompositionRow cut;
  cut.schedule = "uniform-fused-2d";
  cut.chunks = 4;
  cut.pieces = 4;
  cut.largest = "64x64x16";
  cut.kernels = "32x32, 64x32/2";
  cut.time_us = 60;
  cut.dil = 1.2;
  cut.causes = {.idle = -0.05, .tiles = 0, .operands = 0.03, .results = 0.12, .starts = 0.1};
  cut.kernel_starts = 0.18;
  report.decomposition = {cut};
  ContentionRow beside;
  beside.schedule = "uniform-fused-2d";
  beside.chunks = 8;
  beside.time = {80'000};
  beside.speedup = 1.25;
  beside.cil_gemm = 1.125;
  beside.cil_comm = 1.5;
  beside.products_alone = {61'000};
  beside.products = {68'625};
  beside.other_kernels = {4'000};
  beside.first_wait = {2'000};
  beside.later_waits = {1'000};
  report.contention = {beside, beside};
  report.contention[1].on_cores = true;
  report.skipped = {{"uniform-fused-2d/64", {"ficco.chunks", "too many", "fewer"}}};
  return report;
}

TEST(Characterization, TextHasBothTables) {
  const std::string text = to_text(characterization_document(small_report()), {.wide = true});
  EXPECT_THAT(text, HasSubstr("# all-gather of 8KiB, then 64x64x64 bf16 of its output, on 8 ranks of a<b\n"));
  EXPECT_THAT(text, HasSubstr("takes 50.0 us alone at a fixed clock, with kernel 32x32 (of which idle 25.0 %); GEMM "
                              "and collective in sequence take 100.0"));
  EXPECT_THAT(text, testing::ContainsRegex("uniform-fused-2d +4 +4 +64x64x16 +32x32, 64x32/2 +60.0 +1.200 +-5.0 +0.0 "
                                           "+[+]3.0 +[+]12.0 +[+]10.0 +[+]18.0\n"));
  EXPECT_THAT(text, testing::ContainsRegex("uniform-fused-2d +8 +DMA engines +80.0 +1.25 +1.1[23] +1.50 +61.0 +68.6 "
                                           "+4.0 +2.0 +1.0\n"));
  EXPECT_THAT(text, testing::ContainsRegex("uniform-fused-2d +8 +compute units +80.0"));
  EXPECT_THAT(text, HasSubstr("# uniform-fused-2d/64 left out: ficco.chunks: too many (hint: fewer)\n"));
}

TEST(Characterization, TablesFitATerminal) {
  std::istringstream lines(to_text(characterization_document(small_report())));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 120U) << line;
}

TEST(Characterization, AProductFirstIsCalledThat) {
  Characterization report = small_report();
  report.product_first = true;
  report.collective = "reduce-scatter";
  EXPECT_THAT(to_text(characterization_document(report)),
              HasSubstr("# 64x64x64 bf16, then reduce-scatter of its 8KiB, on 8 ranks"));
}

TEST(Characterization, JsonHasEveryField) {
  const auto document = nlohmann::json::parse(to_json(characterization_document(small_report())));
  EXPECT_EQ(document["schema"], "cortado.characterization");
  EXPECT_EQ(document["gemm_alone_us"], 50.0);
  EXPECT_EQ(document["serial_us"], 100.0);
  EXPECT_EQ(document["whole"]["idle"], 0.25);
  const auto cut = document["decomposition"][0];
  EXPECT_EQ(cut["schedule"], "uniform-fused-2d");
  EXPECT_EQ(cut["chunks"], 4);
  EXPECT_EQ(cut["dil"], 1.2);
  EXPECT_EQ(cut["idle"], -0.05);
  EXPECT_EQ(cut["operands"], 0.03);
  EXPECT_EQ(cut["results"], 0.12);
  EXPECT_EQ(cut["starts"], 0.1);
  EXPECT_EQ(cut["kernel_starts"], 0.18);
  const auto beside = document["contention"];
  EXPECT_EQ(beside[0]["means"], "dma");
  EXPECT_EQ(beside[1]["means"], "cores");
  EXPECT_EQ(beside[0]["cil_gemm"], 1.125);
  EXPECT_EQ(beside[0]["cil_comm"], 1.5);
  EXPECT_EQ(beside[0]["products_us"], 68.625);
  EXPECT_EQ(beside[0]["first_wait_us"], 2.0);
  EXPECT_EQ(document["skipped"][0]["schedule"], "uniform-fused-2d/64");
}

TEST(Characterization, ThePageHasEveryNumberAndNeedsNothingElse) {
  const Characterization report = small_report();
  const Document document = characterization_document(report);
  const std::string page = to_html(document);
  for (const Table& table : {document.tables[0], document.tables[1]}) {
    const std::size_t cells = table.columns.size() - (table.key == "contention" ? energy_columns().size() : 0);
    for (std::size_t c = 0; c < cells; ++c) {
      if (table.columns[c].view == View::data) continue;
      EXPECT_THAT(page, HasSubstr(">" + table.rows[0][c].text(table.columns[c]) + "</td>"));
    }
  }
  EXPECT_THAT(page, HasSubstr("a&lt;b"));
}

TEST(Characterization, PartsOfTheTimeAddUp) {
  // 100 us one after the other, of the whole GEMM 50: cutting 11, contention 7.6, and 4.4 us are left.
  const auto row = nlohmann::json::parse(to_json(characterization_document(small_report())))["contention"][0];
  const auto& parts = row["parts_us"];
  EXPECT_EQ(parts["whole"], 50);
  EXPECT_NEAR(parts["cutting"].get<double>(), 11, 0.05);
  EXPECT_NEAR(parts["contention"].get<double>(), 7.6, 0.05);
  EXPECT_NEAR(parts["rest"].get<double>(), 4.4, 0.05);
  double sum =
      row["other_kernels_us"].get<double>() + row["first_wait_us"].get<double>() + row["later_waits_us"].get<double>();
  for (const auto& part : parts) sum += part.get<double>();
  EXPECT_NEAR(sum, row["time_us"].get<double>(), 1e-9);
}

}  // namespace characterization_test
}  // namespace cortado::report
