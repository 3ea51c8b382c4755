#include <fmt/format.h>

#include "pipeline/compare.hpp"
#include "report/energy.hpp"

namespace cortado::pipeline {
namespace {

std::vector<report::Field<ComparedRow>> compared_fields() {
  auto fields = report::with_energy<ComparedRow>(
      {{{"bytes", "size", "B", 0, "size of the whole buffer, as in nccl-tests"}, &ComparedRow::bytes},
       {{"what", "what", "", 0, "name of the program, or variant of the collective"}, &ComparedRow::what},
       {{"prelaunch", "prelaunch", "", 0, "queues were submitted ahead of time; null for program files"},
        &ComparedRow::prelaunch},
       {{"measured_us", "measured", "us", 2, "median of the iterations on the node"},
        [](const ComparedRow& row) { return microseconds(row.times.measured); }},
       {{"simulated_us", "simulated", "us", 2, "of the machine, with warm caches"},
        [](const ComparedRow& row) { return microseconds(row.times.simulated); }},
       {{"ratio", "ratio", "", 2, "`simulated_us` / `measured_us`"},
        [](const ComparedRow& row) { return row.times.ratio(); }},
       {{"wrong", "wrong", "B", 0, "output bytes that differ from the contract"},
        [](const ComparedRow& row) { return row.times.wrong_bytes; }}},
      [](const ComparedRow& row) { return row.times.energy; }, report::View::wide);
  for (auto& [column, value] : fields) {
    const bool words = column.key == "what" || column.key == "prelaunch";
    column.align = words ? report::Align::left : report::Align::right;
    if (column.key == "bytes" || column.key == "what") column.width = 12;
    if (column.key.ends_with("_us")) column.width = 12;
  }
  return fields;
}

}  // namespace

report::Document compare_document(const ComparedReport& report) {
  report::Document document{.schema = "cortado.compare"};
  document.title = fmt::format("{}: measured on {}; simulated on {}", report.what, report.node, report.machine);
  std::vector<double> errors;
  for (const ComparedRow& row : report.rows) errors.push_back(row.times.error());
  const ErrorSummary summary = summary_of(std::move(errors));
  document.facts = {{"what", report.what, "program file or collective"},
                    {"node", report.node, "where it was measured"},
                    {"machine", report.machine, "the machine that was simulated"},
                    {"iterations", report.iterations, "that were measured"},
                    {"median_error_pct", 100 * summary.median, "median of | `ratio` - 1 |, in %"},
                    {"worst_error_pct", 100 * summary.worst, "the greatest of them"},
                    {"interrupted", report.interrupted, "the run was interrupted: rows are missing"}};
  document.tables = {report::table_of("rows", "one per program", compared_fields(), report.rows)};
  document.notes.push_back(fmt::format("simulation error: median {:.1f} %, worst {:.1f} %, {} rows",
                                       100 * summary.median, 100 * summary.worst, report.rows.size()));
  return document;
}

}  // namespace cortado::pipeline
