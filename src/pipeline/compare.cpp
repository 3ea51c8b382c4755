#include "pipeline/compare.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "report/energy.hpp"

namespace cortado::pipeline {
namespace {

/// The first iteration finds empty caches; the median of three is a warm one.
constexpr std::uint32_t kSimulatedIterations = 3;

}  // namespace

double Comparison::ratio() const {
  return measured.value > 0 ? static_cast<double>(simulated.value) / static_cast<double>(measured.value) : 0;
}

double Comparison::error() const {
  return std::abs(ratio() - 1);
}

Outcome<Comparison> compare_verified(const VerifiedProgram& program, Target& device, const RunOptions& options) {
  const auto simulated =
      simulator()->run(program, {.iterations = kSimulatedIterations, .trace = options.trace, .sim = options.sim});
  if (!simulated) return fail(simulated.error());
  const auto measured = device.run(program, options);
  if (!measured) return fail(measured.error());
  Comparison comparison{measured->time, simulated->time, measured->check->wrong, simulated->energy};
  if (options.trace) {
    comparison.measured_timeline = last_iteration(measured->timeline);
    comparison.simulated_timeline = last_iteration(simulated->timeline);
  }
  return comparison;
}

ErrorSummary summary_of(std::vector<double> errors) {
  if (errors.empty()) return {};
  std::sort(errors.begin(), errors.end());
  const std::size_t middle = errors.size() / 2;
  const double median = errors.size() % 2 == 1 ? errors[middle] : (errors[middle - 1] + errors[middle]) / 2;
  return {median, errors.back()};
}

Timeline last_iteration(const Timeline& timeline) {
  constexpr std::uint32_t kDropped = std::numeric_limits<std::uint32_t>::max();
  Timeline last = timeline;
  last.spans.clear();
  last.flows.clear();
  last.counters.clear();
  if (!timeline.iteration_times.empty()) last.iteration_times = {timeline.iteration_times.back()};
  if (!timeline.iteration_energies.empty()) last.iteration_energies = {timeline.iteration_energies.back()};
  last.energy = energy_of_iteration(last);
  std::uint32_t iteration = 0;
  for (const Span& span : timeline.spans) iteration = std::max(iteration, span.iteration);
  Nanoseconds first{std::numeric_limits<std::int64_t>::max()};
  std::vector<std::uint32_t> place(timeline.spans.size(), kDropped);
  for (std::size_t i = 0; i < timeline.spans.size(); ++i) {
    if (timeline.spans[i].iteration != iteration) continue;
    place[i] = static_cast<std::uint32_t>(last.spans.size());
    last.spans.push_back(timeline.spans[i]);
    first = std::min(first, timeline.spans[i].start);
  }
  for (Span& span : last.spans) {
    span.iteration = 0;  // the only one that iteration_times has
    span.start = span.start - first;
    span.end = span.end - first;
  }
  for (const Flow& flow : timeline.flows) {
    if (place[flow.from_span] == kDropped || place[flow.to_span] == kDropped) continue;
    last.flows.push_back({place[flow.from_span], place[flow.to_span]});
  }
  return last;
}

// --- The document ----------------------------------------------------------------------------------------------------

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
  document.notes.push_back(fmt::format("simulation error: median {:.1f} %, worst {:.1f} %, {} row{}",
                                       100 * summary.median, 100 * summary.worst, report.rows.size(),
                                       report.rows.size() == 1 ? "" : "s"));
  return document;
}

}  // namespace cortado::pipeline
