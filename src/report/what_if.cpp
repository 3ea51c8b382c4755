#include "cortado/report/what_if.hpp"

#include <fmt/format.h>

#include "cortado/base/check.hpp"
#include "cortado/base/text.hpp"
#include "cortado/report/energy.hpp"

#include "report/overlap_parts.hpp"

namespace cortado::report {
namespace {

using Json = nlohmann::ordered_json;

const FusedRow& best(const FusedReport& report) {
  const FusedRow* row = report.row(report.choice);
  CORTADO_CHECK(row != nullptr, "the choice is one of the rows");
  return *row;
}

std::string name_of(const FusedRow& row) {
  return row.how.empty() ? row.way : fmt::format("{} ({})", row.way, row.how);
}

void add_rows(const FusedReport& report, const char* when, double today_us, TextTable& table) {
  for (const FusedRow& row : report.rows) {
    table.add_row({when, row.way, fmt::format("{:.1f}", microseconds(row.time)),
                   fmt::format("{:.2f}", today_us / microseconds(row.time)),
                   row.dram ? gigabytes(row.dram->reads()) : "-", row.dram ? gigabytes(row.dram->writes()) : "-",
                   row.tracker_entries_peak ? fmt::format("{}", *row.tracker_entries_peak) : "-",
                   joules_text(row.energy), watts_text(row.energy), row.bound ? "ideal" : row.how});
  }
}

}  // namespace

double WhatIfReport::gain() const {
  return microseconds(best(today).time) / microseconds(best(tomorrow).time);
}

std::string what_if_text(const WhatIfReport& report) {
  std::string text =
      fmt::format("# what if {} had {}: {}, then {} of {}, on {} ranks\n", report.today.machine, join(report.features),
                  report.today.gemm, report.today.collective, format_bytes(report.today.bytes), report.today.ranks);
  const FusedRow& now = best(report.today);
  const FusedRow& then = best(report.tomorrow);
  TextTable table({"when", "schedule", "time us", "over best\nof today", "DRAM\nread GB", "written\nGB",
                   "tracker\nentries", "energy\nJ", "power\nW", "how"});
  add_rows(report.today, "today", microseconds(now.time), table);
  add_rows(report.tomorrow, "tomorrow", microseconds(now.time), table);
  text += table.to_string();
  for (const auto& [when, part] : {std::pair{"today", &report.today}, std::pair{"tomorrow", &report.tomorrow}}) {
    for (const SkippedWay& way : part->skipped) {
      text += fmt::format("# {}, {} left out: {}\n", when, way.name, to_string(way.reason));
    }
  }
  return text + fmt::format("tomorrow's best, {}, is {:.2f} times as fast as today's, {}\n", name_of(then),
                            report.gain(), name_of(now));
}

std::string what_if_json(const WhatIfReport& report) {
  Json document{{"schema", "cortado.what-if"},
                {"version", 1},
                {"features", report.features},
                {"gain", report.gain()},
                {"today", Json::parse(fused_json(report.today))},
                {"tomorrow", Json::parse(fused_json(report.tomorrow))}};
  return to_text(document);
}

}  // namespace cortado::report
