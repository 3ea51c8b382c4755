#include "cortado/report/fused.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cortado/base/text.hpp"
#include "cortado/report/energy.hpp"

#include "report/overlap_parts.hpp"

namespace cortado::report {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> cells(const FusedReport& report, const FusedRow& row) {
  const auto part = [&](Nanoseconds time) { return row.bound ? "-" : fmt::format("{:.1f}", microseconds(time)); };
  std::vector<std::string> cells{row.way,
                                 fmt::format("{:.1f}", microseconds(row.time)),
                                 fmt::format("{:.2f}", row.speedup),
                                 fmt::format("{:.0f}", 100 * row.share_of_ideal),
                                 part(row.gemm),
                                 part(row.exposed)};
  if (report.simulated) {
    cells.push_back(row.dram ? gigabytes(row.dram->reads()) : "-");
    cells.push_back(row.dram ? gigabytes(row.dram->writes()) : "-");
    cells.push_back(row.tracker_entries_peak ? fmt::format("{}", *row.tracker_entries_peak) : "-");
    cells.push_back(joules_text(row.energy));
    cells.push_back(watts_text(row.energy));
  } else {
    cells.push_back(row.wrong ? fmt::format("{}", *row.wrong) : "-");
  }
  cells.push_back(row.how);
  return cells;
}

}  // namespace

const FusedRow* FusedReport::row(std::string_view way) const {
  const auto found = std::ranges::find(rows, way, &FusedRow::way);
  return found == rows.end() ? nullptr : &*found;
}

std::string fused_text(const FusedReport& report) {
  std::string text = fmt::format("# {}, then {} of {}, on {} ranks of {}\n", report.gemm, report.collective,
                                 format_bytes(report.bytes), report.ranks, report.machine);
  std::vector<std::string> columns{"schedule",    "time us",           "speed-\nup",
                                   "% of\nideal", "product\nuntil us", "exposed\nus"};
  if (report.simulated) {
    columns.insert(columns.end(), {"DRAM\nread GB", "written\nGB", "tracker\nentries", "energy\nJ", "power\nW"});
  } else {
    columns.emplace_back("wrong\nbytes");
  }
  columns.emplace_back("how");
  TextTable table(columns);
  for (const FusedRow& row : report.rows) table.add_row(cells(report, row));
  return text + overlap_heading(report) + table.to_string() + overlap_ending(report);
}

std::string fused_json(const FusedReport& report) {
  Json document = overlap_document(report, "cortado.fused", "schedule");
  const auto bytes = [](const std::optional<DramTraffic>& dram, auto&& value) {
    return dram ? Json(value(*dram)) : Json();
  };
  for (const FusedRow& row : report.rows) {
    const auto& dram = row.dram;
    const Json object{{"schedule", row.way},
                      {"how", row.how},
                      {"bound", row.bound},
                      {"time_us", microseconds(row.time)},
                      {"speedup", row.speedup},
                      {"share_of_ideal", row.share_of_ideal},
                      {"gemm_us", row.bound ? Json() : Json(microseconds(row.gemm))},
                      {"exposed_comm_us", row.bound ? Json() : Json(microseconds(row.exposed))},
                      {"hbm_bytes", row.hbm_bytes ? Json(*row.hbm_bytes) : Json()},
                      {"dram_reads", bytes(dram, [](const DramTraffic& t) { return t.reads(); })},
                      {"dram_writes", bytes(dram, [](const DramTraffic& t) { return t.writes(); })},
                      {"dram_producer_reads", bytes(dram, [](const DramTraffic& t) { return t.producer_reads; })},
                      {"dram_producer_writes", bytes(dram, [](const DramTraffic& t) { return t.producer_writes; })},
                      {"dram_collective_reads", bytes(dram, [](const DramTraffic& t) { return t.collective_reads; })},
                      {"dram_collective_writes", bytes(dram, [](const DramTraffic& t) { return t.collective_writes; })},
                      {"tracker_entries_peak", row.tracker_entries_peak ? Json(*row.tracker_entries_peak) : Json()},
                      {"tracker_wait_us", row.tracker_wait ? Json(microseconds(*row.tracker_wait)) : Json()},
                      {"wrong", row.wrong ? Json(*row.wrong) : Json()}};
    document["rows"].push_back(with_energy(object, row.energy));
  }
  return to_text(document);
}

}  // namespace cortado::report
