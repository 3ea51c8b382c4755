#include <fmt/format.h>

#include "pipeline/breakdown.hpp"
#include "report/energy.hpp"

namespace cortado::pipeline {
namespace {

using report::Field;
using CopyRow = Breakdown::Row;

constexpr std::array<std::string_view, 4> kPhaseMeanings{"packets, ring and doorbell by the host",
                                                         "until the engine starts", "start-up and bytes",
                                                         "last byte until the signal is visible"};

std::vector<Field<CopyRow>> breakdown_fields() {
  std::vector<Field<CopyRow>> fields{{{"bytes", "bytes", "", 0, "copied"}, &CopyRow::bytes},
                                     {{"total_us", "total", "us", 3, "sum of the phases"},
                                      [](const CopyRow& row) { return microseconds(row.phases.total()); }}};
  for (std::size_t i = 0; i < kCopyPhaseNames.size(); ++i) {
    const std::string name(kCopyPhaseNames[i]);
    const auto time = [i](const CopyRow& row) { return microseconds(row.phases.in_order()[i]); };
    fields.push_back({{name + "_us", name, "us", 3, std::string(kPhaseMeanings[i])}, time});
    fields.push_back(
        {{.key = name + "_pct", .unit = "%", .digits = 1, .meaning = fmt::format("`{}_us` in % of `total_us`", name)},
         [time](const CopyRow& row) { return 100 * time(row) / microseconds(row.phases.total()); }});
  }
  return report::with_energy<CopyRow>(std::move(fields), [](const CopyRow& row) { return row.phases.energy; });
}

}  // namespace

report::Document breakdown_document(const Breakdown& breakdown) {
  report::Document document{.schema = "cortado.breakdown"};
  document.title = fmt::format("one copy from GPU 0 to GPU 1 of {}, {} on {}", breakdown.machine,
                               breakdown.simulated ? "simulated" : "measured", breakdown.node);
  if (!breakdown.simulated) {
    document.about.push_back(
        fmt::format("medians of {} iterations after {} warm-up", breakdown.iterations, breakdown.warmup));
  }
  std::string phases;
  for (std::size_t i = 0; i < kCopyPhaseNames.size(); ++i) {
    phases += fmt::format("{}{}: {}", i == 0 ? "" : "; ", kCopyPhaseNames[i], kPhaseMeanings[i]);
  }
  document.about.push_back(std::move(phases));
  document.facts = {{"what", "copy", "what was broken down"},
                    {"machine", breakdown.machine, "modelled machine that the program was planned for"},
                    {"node", breakdown.node, "where it ran: the node, or the machine that was simulated"},
                    {"simulated", breakdown.simulated, "predicted, not measured"},
                    {"interrupted", breakdown.interrupted, "the run was interrupted: rows are missing"}};
  document.tables = {report::table_of("rows", "one per size", breakdown_fields(), breakdown.rows)};
  return document;
}

}  // namespace cortado::pipeline
