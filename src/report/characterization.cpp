#include "cortado/report/characterization.hpp"

#include <fmt/format.h>

#include "cortado/base/text.hpp"
#include "cortado/report/energy.hpp"

#include "report/characterization_parts.hpp"
#include "report/overlap_parts.hpp"

namespace cortado::report {
namespace {

using Json = nlohmann::ordered_json;

std::string with_sign(double share) {
  const std::string text = fmt::format("{:+.1f}", 100 * share);
  return text == "+0.0" || text == "-0.0" ? "0.0" : text;
}

void add_causes(const DecompositionCauses& causes, Json& object) {
  const auto values = causes.values();
  for (std::size_t i = 0; i < values.size(); ++i) object[std::string(causes.kNames[i])] = values[i];
}

Json row_of(const DecompositionRow& row) {
  Json object{{"schedule", row.schedule}, {"chunks", row.chunks},   {"pieces", row.pieces}, {"largest", row.largest},
              {"kernels", row.kernels},   {"time_us", row.time_us}, {"dil", row.dil}};
  add_causes(row.causes, object);
  object["kernel_starts"] = row.kernel_starts;
  return object;
}

Json row_of(const ContentionRow& row) {
  const Json object{{"schedule", row.schedule},
                    {"chunks", row.chunks},
                    {"means", row.on_cores ? "cores" : "dma"},
                    {"time_us", microseconds(row.time)},
                    {"speedup", row.speedup},
                    {"cil_gemm", row.cil_gemm},
                    {"cil_comm", row.cil_comm},
                    {"products_alone_us", microseconds(row.products_alone)},
                    {"products_us", microseconds(row.products)},
                    {"other_kernels_us", microseconds(row.other_kernels)},
                    {"first_wait_us", microseconds(row.first_wait)},
                    {"later_waits_us", microseconds(row.later_waits)}};
  return with_energy(object, row.energy);
}

std::string table_text(const NumberTable& table) {
  TextTable text(table.header);
  for (const auto& row : table.rows) text.add_row(row);
  return text.to_string();
}

}  // namespace

std::string characterization_title(const Characterization& report) {
  const std::string size = format_bytes(report.bytes);
  return report.product_first ? fmt::format("{}, then {} of its {}, on {} ranks of {}", report.gemm, report.collective,
                                            size, report.ranks, report.machine)
                              : fmt::format("{} of {}, then {} of what it brings, on {} ranks of {}", report.collective,
                                            size, report.gemm, report.ranks, report.machine);
}

NumberTable decomposition_table(const Characterization& report) {
  NumberTable table{{"schedule", "chunks", "pieces", "largest piece", "kernels", "time us", "DIL"}, {}};
  for (const std::string_view cause : DecompositionCauses::kNames) table.header.push_back(fmt::format("{} %", cause));
  table.header.emplace_back("kernel starts %");
  for (const DecompositionRow& row : report.decomposition) {
    std::vector<std::string> cells{
        row.schedule, fmt::format("{}", row.chunks),      fmt::format("{}", row.pieces), row.largest,
        row.kernels,  fmt::format("{:.1f}", row.time_us), fmt::format("{:.3f}", row.dil)};
    for (const double share : row.causes.values()) cells.push_back(with_sign(share));
    cells.push_back(with_sign(row.kernel_starts));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

NumberTable contention_table(const Characterization& report) {
  NumberTable table{
      {"schedule", "chunks", "copies by", "time us", "speed-\nup", "CIL\nproduct", "CIL\ncopies", "pieces\nalone us",
       "pieces\nus", "other\nkernels us", "first\nwait us", "later\nwaits us", "energy\nJ", "power\nW"},
      {}};
  const auto us = [](Nanoseconds time) { return fmt::format("{:.1f}", microseconds(time)); };
  for (const ContentionRow& row : report.contention) {
    table.rows.push_back({row.schedule, fmt::format("{}", row.chunks), std::string(row.means()), us(row.time),
                          fmt::format("{:.2f}", row.speedup), fmt::format("{:.2f}", row.cil_gemm),
                          fmt::format("{:.2f}", row.cil_comm), us(row.products_alone), us(row.products),
                          us(row.other_kernels), us(row.first_wait), us(row.later_waits), joules_text(row.energy),
                          watts_text(row.energy)});
  }
  return table;
}

std::string whole_product(const Characterization& report) {
  std::vector<std::string> losses;
  const auto values = report.whole.values();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] >= 0.0005) losses.push_back(fmt::format("{} {:.1f} %", report.whole.kNames[i], 100 * values[i]));
  }
  return fmt::format("the whole product takes {:.1f} us alone, with kernel {}{}; one after the other {:.1f} us",
                     microseconds(report.gemm_alone), report.kernel,
                     losses.empty() ? "" : fmt::format(" (of it {})", join(losses)), microseconds(report.serial));
}

std::string characterization_text(const Characterization& report) {
  std::string text = fmt::format("# {}\n# {}\n", characterization_title(report), whole_product(report));
  text += "\n# DIL: pieces alone against the whole product, and what makes the difference, in % of the whole\n";
  text += table_text(decomposition_table(report));
  text += "\n# CIL: side by side against alone; times of the rank whose products take longest\n";
  text += table_text(contention_table(report));
  return text + skipped_text(report.skipped);
}

std::string characterization_json(const Characterization& report) {
  Json document{{"schema", "cortado.characterization"},
                {"version", 1},
                {"gemm", report.gemm},
                {"collective", report.collective},
                {"product_first", report.product_first},
                {"bytes", report.bytes.value},
                {"ranks", report.ranks},
                {"machine", report.machine},
                {"kernel", report.kernel},
                {"gemm_alone_us", microseconds(report.gemm_alone)},
                {"serial_us", microseconds(report.serial)}};
  add_causes(report.whole, document["whole"]);
  document["decomposition"] = Json::array();
  for (const DecompositionRow& row : report.decomposition) document["decomposition"].push_back(row_of(row));
  document["contention"] = Json::array();
  for (const ContentionRow& row : report.contention) document["contention"].push_back(row_of(row));
  document["skipped"] = skipped_list(report.skipped, "schedule");
  return to_text(document);
}

}  // namespace cortado::report
