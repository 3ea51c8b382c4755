#include "cortado/report/overlap.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cortado/base/text.hpp"
#include "cortado/report/energy.hpp"

#include "report/overlap_parts.hpp"

namespace cortado::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kAboveIdeal = 1.01;

std::vector<std::string> cells(const OverlapReport& report, const OverlapRow& row) {
  std::vector<std::string> cells{
      row.policy,
      row.variant,
      fmt::format("{:.1f}", microseconds(row.time)),
      fmt::format("{:.2f}", row.speedup),
      has_gain(report.serial, report.ideal) ? fmt::format("{:.0f}", 100 * row.share_of_ideal) : "-",
      fmt::format("{:.2f}", row.gemm_slowdown),
      fmt::format("{:.2f}", row.comm_slowdown),
      fmt::format("{}", row.gemm_units),
      row.comm_units == 0 ? "dma" : fmt::format("{}", row.comm_units)};
  add_measures(row, report.simulated, cells);
  return cells;
}

}  // namespace

const OverlapRow* OverlapReport::row(std::string_view policy) const {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const OverlapRow& r) { return r.policy == policy; });
  return found == rows.end() ? nullptr : &*found;
}

std::string overlap_text(const OverlapReport& report) {
  TextTable table(with_measures({"policy", "collective", "time us", "speed-up", "% of\nideal", "product\nx",
                                 "collective\nx", "product\nCUs", "collective\nCUs"},
                                report.simulated));
  for (const OverlapRow& row : report.rows) table.add_row(cells(report, row));
  const std::string asked =
      fmt::format("# {} beside {} of {}, independent of each other, on {} ranks of {}\n", report.gemm,
                  report.collective, format_bytes(report.bytes), report.ranks, report.machine);
  const auto above = [](const OverlapRow& row) { return row.share_of_ideal > kAboveIdeal; };
  const bool beyond = report.simulated && std::any_of(report.rows.begin(), report.rows.end(), above);
  const std::string why =
      "# above 100 %: alone, the collective is a library's on compute units; this one is faster by itself\n";
  return asked + overlap_heading(report) + table.to_string() + (beyond ? why : "") + overlap_ending(report);
}

std::string overlap_json(const OverlapReport& report) {
  Json document = overlap_document(report, "cortado.overlap", "policy");
  for (const OverlapRow& row : report.rows) {
    const Json object{{"policy", row.policy},
                      {"time_us", microseconds(row.time)},
                      {"speedup", row.speedup},
                      {"share_of_ideal", row.share_of_ideal},
                      {"gemm_us", microseconds(row.gemm)},
                      {"comm_us", microseconds(row.comm)},
                      {"gemm_slowdown", row.gemm_slowdown},
                      {"comm_slowdown", row.comm_slowdown},
                      {"hbm_bytes", row.hbm_bytes ? Json(*row.hbm_bytes) : Json()},
                      {"gemm_units", row.gemm_units},
                      {"comm_units", row.comm_units},
                      {"variant", row.variant},
                      {"why", row.why},
                      {"wrong", row.wrong ? Json(*row.wrong) : Json()}};
    document["rows"].push_back(with_energy(object, row.energy));
  }
  return to_text(document);
}

}  // namespace cortado::report
