#include "pipeline/breakdown.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "cortado/plan.hpp"

#include "report/energy.hpp"

namespace cortado::pipeline {
namespace {

CollectiveRequest one_copy(Bytes bytes) {
  CollectiveRequest request;
  request.collective = "point-to-point";
  request.bytes = bytes;
  request.ranks = 2;
  return request;
}

/// From the first start to the last end of the spans of one kind: a size beyond one packet takes several copies.
struct Extent {
  Nanoseconds start;
  Nanoseconds end;
};

/// The spans of one iteration.
struct IterationSpans {
  std::optional<Extent> begin;  ///< the mark before the Submit
  std::optional<Extent> submit;
  std::optional<Extent> copy;
  std::optional<Extent> signal;

  std::optional<Extent>* of(SpanKind kind) {
    switch (kind) {
      case SpanKind::mark:
        return &begin;
      case SpanKind::host:
        return &submit;
      case SpanKind::copy:
        return &copy;
      case SpanKind::signal:
        return &signal;
      case SpanKind::wait:
      case SpanKind::kernel:
        return nullptr;
    }
    return nullptr;
  }

  void add(const Span& span) {
    std::optional<Extent>* extent = of(span.kind);
    if (extent == nullptr) return;
    if (!*extent) *extent = Extent{span.start, span.end};
    (*extent)->start = std::min((*extent)->start, span.start);
    (*extent)->end = std::max((*extent)->end, span.end);
  }
};

}  // namespace

Result<CopyPhases> copy_phases_of(const Timeline& timeline) {
  std::map<std::uint32_t, IterationSpans> iterations;
  for (const Span& span : timeline.spans) iterations[span.iteration].add(span);
  if (iterations.empty()) {
    return fail("breakdown.spans", "the timeline has no spans", "run or simulate the copy with tracing");
  }

  std::array<std::vector<Nanoseconds>, kCopyPhaseNames.size()> phases;
  for (const auto& [number, spans] : iterations) {
    if (!spans.begin || !spans.submit || !spans.copy || !spans.signal) {
      return fail("breakdown.spans",
                  fmt::format("iteration {} lacks a begin, submit, copy or completion signal", number),
                  "use the timeline of a point-to-point copy");
    }
    const Nanoseconds submitted = std::min(spans.submit->end, spans.copy->start);
    const CopyPhases cut{submitted - spans.begin->start, spans.copy->start - submitted,
                         spans.copy->end - spans.copy->start, spans.signal->end - spans.copy->end};
    for (std::size_t i = 0; i < phases.size(); ++i) phases[i].push_back(cut.in_order()[i]);
  }
  return CopyPhases{upper_median(phases[0]), upper_median(phases[1]), upper_median(phases[2]), upper_median(phases[3])};
}

Outcome<CopyReport> copy_phases(Bytes bytes, const Machine& machine, Target& target, RunOptions options) {
  options.trace = true;
  const auto run = run_on(target, plan_collective(one_copy(bytes), machine), machine, options);
  if (!run) return fail(run.error());
  if (run->check && run->check->first_wrong) return fail_at(Stage::run, *run->check->first_wrong);
  const auto phases = copy_phases_of(run->timeline);
  if (!phases) return fail_at(Stage::run, phases.error());
  return CopyReport{*phases, run->energy};
}

// --- The document ----------------------------------------------------------------------------------------------------

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
