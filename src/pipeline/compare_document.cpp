#include <fmt/format.h>

#include "cortado/pipeline/compare.hpp"
#include "cortado/report/energy.hpp"

namespace cortado::pipeline {
namespace {

std::vector<report::Field<ComparedRow>> compared_fields() {
  return report::with_energy<ComparedRow>(
      {{{.key = "bytes", .head = "size", .unit = "B", .meaning = "whole buffer, as nccl-tests count it", .width = 12},
        [](const ComparedRow& row) { return row.bytes; }},
       {{.key = "what",
         .head = "what",
         .meaning = "name of the program, or variant of the collective",
         .width = 12,
         .align = report::Align::left},
        [](const ComparedRow& row) { return row.what; }},
       {{.key = "prelaunch",
         .head = "prelaunch",
         .meaning = "queues were submitted ahead; null for program files",
         .align = report::Align::left},
        [](const ComparedRow& row) { return row.prelaunch; }},
       {{.key = "measured_us",
         .head = "measured",
         .unit = "us",
         .digits = 2,
         .meaning = "median of the iterations on the node",
         .width = 11},
        [](const ComparedRow& row) { return microseconds(row.times.measured); }},
       {{.key = "simulated_us",
         .head = "simulated",
         .unit = "us",
         .digits = 2,
         .meaning = "of the machine, with warm caches",
         .width = 12},
        [](const ComparedRow& row) { return microseconds(row.times.simulated); }},
       {{.key = "ratio", .head = "ratio", .digits = 2, .meaning = "`simulated_us` / `measured_us`"},
        [](const ComparedRow& row) { return row.times.ratio(); }},
       {{.key = "wrong", .head = "wrong", .unit = "B", .meaning = "output bytes that differ from the contract"},
        [](const ComparedRow& row) { return row.times.wrong_bytes; }}},
      [](const ComparedRow& row) { return row.times.energy; }, report::View::wide);
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
                    {"interrupted", report.interrupted, "not all rows that were asked for are there"}};
  document.tables = {report::table_of("rows", "one per program", compared_fields(), report.rows)};
  document.notes.push_back(fmt::format("error of the simulation: median {:.1f} %, worst {:.1f} %, {} rows",
                                       100 * summary.median, 100 * summary.worst, report.rows.size()));
  return document;
}

}  // namespace cortado::pipeline
