#include "cortado/report/dependent.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cortado/base/text.hpp"
#include "cortado/report/energy.hpp"

#include "report/overlap_parts.hpp"

namespace cortado::report {
namespace {

using Json = nlohmann::ordered_json;

std::string loss(const std::optional<double>& cil) {
  return cil ? fmt::format("{:.2f}", *cil) : "-";
}

std::vector<std::string> cells(const DependentReport& report, const DependentRow& row) {
  std::vector<std::string> cells{row.schedule,
                                 fmt::format("{}", row.chunks),
                                 fmt::format("{:.1f}", microseconds(row.time)),
                                 fmt::format("{:.2f}", row.speedup),
                                 fmt::format("{:.0f}", 100 * row.share_of_ideal),
                                 fmt::format("{:.1f}", microseconds(row.gemm)),
                                 fmt::format("{:.1f}", microseconds(row.comm)),
                                 fmt::format("{:.1f}", microseconds(row.exposed)),
                                 fmt::format("{:.2f}", row.dil),
                                 loss(row.cil_gemm),
                                 loss(row.cil_comm),
                                 gigabytes(static_cast<double>(row.footprint.value)),
                                 gigabytes(static_cast<double>(row.staging.value))};
  add_measures(row, report.simulated, cells);
  return cells;
}

}  // namespace

const DependentRow* DependentReport::row(std::string_view schedule) const {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const DependentRow& r) { return r.schedule == schedule; });
  return found == rows.end() ? nullptr : &*found;
}

std::string dependent_text(const DependentReport& report) {
  const std::string collective = fmt::format("{} of {}", report.collective, format_bytes(report.bytes));
  std::string text = report.product_first ? fmt::format("# {}, then {}", report.gemm, collective)
                                          : fmt::format("# {}, then {} of what it brings", collective, report.gemm);
  text += fmt::format(", on {} ranks of {}{}\n", report.ranks, report.machine,
                      report.on_cores ? "; compute units move the bytes" : "");
  TextTable table(with_measures(
      {"schedule", "chunks", "time us", "speed-\nup", "% of\nideal", "product\nuntil us", "collective\nuntil us",
       "exposed\nus", "DIL", "CIL\nproduct", "CIL\ncopies", "memory\nGB", "staging\nGB"},
      report.simulated));
  for (const DependentRow& row : report.rows) table.add_row(cells(report, row));
  text += overlap_heading(report) + table.to_string();
  for (const DependentRow& row : report.rows) {
    if (!row.chosen.empty()) text += fmt::format("# {} is {}, by {}\n", row.schedule, row.chosen, row.chosen_by);
  }
  return text + overlap_ending(report);
}

std::string dependent_json(const DependentReport& report) {
  nlohmann::ordered_json document = overlap_document(report, "cortado.dependent", "schedule");
  document["dependence"] = report.product_first ? "product-first" : "collective-first";
  document["moved_by"] = report.on_cores ? "cores" : "dma";
  for (const DependentRow& row : report.rows) {
    const Json object{{"schedule", row.schedule},
                      {"chunks", row.chunks},
                      {"time_us", microseconds(row.time)},
                      {"speedup", row.speedup},
                      {"share_of_ideal", row.share_of_ideal},
                      {"gemm_us", microseconds(row.gemm)},
                      {"comm_us", microseconds(row.comm)},
                      {"exposed_comm_us", microseconds(row.exposed)},
                      {"dil", row.dil},
                      {"cil_gemm", row.cil_gemm ? Json(*row.cil_gemm) : Json()},
                      {"cil_comm", row.cil_comm ? Json(*row.cil_comm) : Json()},
                      {"footprint_bytes", row.footprint.value},
                      {"staging_bytes", row.staging.value},
                      {"hbm_bytes", row.hbm_bytes ? Json(*row.hbm_bytes) : Json()},
                      {"wrong", row.wrong ? Json(*row.wrong) : Json()},
                      {"chosen", row.chosen.empty() ? Json() : Json(row.chosen)},
                      {"chosen_by", row.chosen_by.empty() ? Json() : Json(row.chosen_by)}};
    document["rows"].push_back(with_energy(object, row.energy));
  }
  return to_text(document);
}

}  // namespace cortado::report
