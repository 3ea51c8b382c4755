// An overlap study as a document.
#include <algorithm>

#include <fmt/format.h>

#include "cortado/study.hpp"

#include "base/text.hpp"
#include "gemm/gemm.hpp"
#include "report/energy.hpp"
#include "report/skipped.hpp"

namespace cortado::pipeline {
namespace {

using report::Cell;
using report::View;
using OverlapField = report::Field<OverlapRow>;

constexpr double kAboveIdeal = 1.01;

template <class Get>
std::function<Cell(const OverlapRow&)> time_of(Get get) {
  return [get](const OverlapRow& row) { return row.bound ? Cell() : Cell(microseconds(get(row))); };
}

template <class Get>
OverlapField traffic(const char* key, const char* meaning, Get get) {
  return {{.key = key, .unit = "B", .meaning = meaning, .view = View::data},
          [get](const OverlapRow& row) { return row.dram ? Cell(get(*row.dram)) : Cell(); }};
}

std::vector<OverlapField> fields(const OverlapReport& report) {
  const View predicted = report.simulated ? View::narrow : View::data;
  const View cut = report.problem.relation == Relation::independent ? View::data : View::wide;
  const View apart = report.problem.relation == Relation::independent ? View::wide : View::data;
  const bool gain = has_gain(report.serial, report.ideal);
  std::vector<OverlapField> all{
      {{.key = "strategy", .head = "strategy", .meaning = "name, with the details it decided on"},
       [](const OverlapRow& row) { return Cell(row.strategy); }},
      {{.key = "time_us", .head = "time", .unit = "us", .digits = 1, .meaning = "time of GEMM and collective"},
       [](const OverlapRow& row) { return Cell(microseconds(row.time)); }},
      {{.key = "speedup", .head = "speed-up", .digits = 2, .meaning = "serial / time"},
       [](const OverlapRow& row) { return Cell(row.speedup); }},
      {{.key = "share_of_ideal",
        .head = "of ideal",
        .unit = "%",
        .meaning = "share of the ideal gain; 1 = all of it",
        .scale = 100},
       [gain](const OverlapRow& row) {
         return gain ? Cell(row.share_of_ideal) : Cell(row.share_of_ideal).shown_as("-");
       }},
      {{.key = "exposed_comm_us", .head = "exposed", .unit = "us", .digits = 1, .meaning = "time - GEMM alone"},
       time_of([](const OverlapRow& row) { return row.exposed; })},
      {{.key = "gemm_us",
        .head = "GEMM end",
        .unit = "us",
        .digits = 1,
        .meaning = "from the start to the end of the GEMM"},
       time_of([](const OverlapRow& row) { return row.gemm; })},
      {{.key = "comm_us",
        .head = "comm end",
        .unit = "us",
        .digits = 1,
        .meaning = "from the start to the end of the collective",
        .view = View::wide},
       time_of([](const OverlapRow& row) { return row.comm; })},
      {{.key = "gemm_slowdown",
        .head = "GEMM x",
        .digits = 2,
        .meaning = "slowdown against the GEMM alone; null: dependent",
        .view = apart},
       [](const OverlapRow& row) { return row.bound ? Cell() : Cell(row.gemm_slowdown); }},
      {{.key = "comm_slowdown",
        .head = "comm x",
        .digits = 2,
        .meaning = "slowdown against the library's collective alone; null: dependent",
        .view = apart},
       [](const OverlapRow& row) { return row.bound ? Cell() : Cell(row.comm_slowdown); }},
      {{.key = "gemm_cus", .head = "GEMM CUs", .meaning = "CUs that the GEMM may occupy", .view = View::wide},
       [](const OverlapRow& row) { return row.bound ? Cell() : Cell(row.gemm_cus); }},
      {{.key = "comm_cus", .head = "comm CUs", .meaning = "CUs that the collective uses; 0: only DMA engines"},
       [](const OverlapRow& row) {
         return row.bound ? Cell() : row.comm_cus == 0 ? Cell(0).shown_as("DMA") : Cell(row.comm_cus);
       }},
      {{.key = "steps", .head = "steps", .meaning = "number of exchange steps; 0: not split", .view = cut},
       [](const OverlapRow& row) { return Cell(row.steps); }},
      {{.key = "dil", .head = "DIL", .digits = 2, .meaning = "decomposition loss of the GEMM", .view = cut},
       [](const OverlapRow& row) { return Cell(row.dil); }},
      {{.key = "cil_gemm",
        .head = "CIL GEMM",
        .digits = 2,
        .meaning = "contention loss of the GEMM; 1 = none",
        .view = cut},
       [](const OverlapRow& row) { return Cell(row.cil_gemm); }},
      {{.key = "cil_comm",
        .head = "CIL copies",
        .digits = 2,
        .meaning = "contention loss of copies; 1 = none",
        .view = cut},
       [](const OverlapRow& row) { return Cell(row.cil_comm); }},
      {{.key = "footprint_bytes",
        .head = "memory",
        .unit = "GB",
        .digits = 2,
        .meaning = "on the GPU that needs most; 0: not known",
        .view = cut,
        .scale = 1e-9},
       [](const OverlapRow& row) { return Cell(row.footprint); }},
      {{.key = "staging_bytes",
        .head = "staging",
        .unit = "GB",
        .digits = 2,
        .meaning = "part of it that is neither operand nor result",
        .view = cut,
        .scale = 1e-9},
       [](const OverlapRow& row) { return Cell(row.staging); }},
      {{.key = "hbm_bytes",
        .head = "HBM",
        .unit = "GB",
        .digits = 2,
        .meaning = "read and written in the memories of all GPUs",
        .view = predicted == View::narrow ? View::wide : predicted,
        .scale = 1e-9},
       [](const OverlapRow& row) {
         return row.hbm_bytes && *row.hbm_bytes < 1e8 ? Cell(row.hbm_bytes).with_digits(4) : Cell(row.hbm_bytes);
       }},
      traffic("dram_reads", "of all GPUs", [](const DramTraffic& t) { return t.reads(); }),
      traffic("dram_writes", "of all GPUs", [](const DramTraffic& t) { return t.writes(); }),
      traffic("dram_producer_reads", "by the GEMM", [](const DramTraffic& t) { return t.producer_reads; }),
      traffic("dram_producer_writes", "by the GEMM", [](const DramTraffic& t) { return t.producer_writes; }),
      traffic("dram_collective_reads", "by the collective", [](const DramTraffic& t) { return t.collective_reads; }),
      traffic("dram_collective_writes", "by the collective", [](const DramTraffic& t) { return t.collective_writes; }),
      {{.key = "tracker_entries_peak",
        .head = "tracker entries",
        .meaning = "most entries in use at once on one GPU",
        .view = View::wide},
       [](const OverlapRow& row) { return Cell(row.tracker_entries_peak); }},
      {{.key = "tracker_wait_us",
        .unit = "us",
        .meaning = "time that writers waited for entries, over all GPUs",
        .view = View::data},
       [](const OverlapRow& row) { return row.tracker_wait ? Cell(microseconds(*row.tracker_wait)) : Cell(); }},
      {{.key = "wrong",
        .head = "wrong bytes",
        .meaning = "output bytes that violate the contract; null: predicted",
        .view = report.simulated ? View::data : View::narrow},
       [](const OverlapRow& row) { return Cell(row.wrong); }},
      {{.key = "bound", .meaning = "an ideal bound, which has no program", .view = View::data},
       [](const OverlapRow& row) { return Cell(row.bound); }},
      {{.key = "how", .head = "how", .meaning = "details it decided on", .view = View::wide},
       [](const OverlapRow& row) { return Cell(row.how); }}};
  return report::with_energy<OverlapRow>(std::move(all), &OverlapRow::energy, predicted);
}

std::string gemm_text(const OverlapProblem& problem) {
  std::vector<std::string> shapes;
  for (const GemmShape& gemm : problem.gemms) shapes.push_back(to_string(gemm));
  return join(shapes, " + ");
}

/// "GEMM 16384x3584x8192 bf16 per GPU, then reduce-scatter of 112 MiB, 8 ranks of mi300x-8"
std::string title(const OverlapReport& report) {
  const OverlapProblem& problem = report.problem;
  std::vector<std::string> moved;
  for (const CollectiveRequest& one : problem.collectives) {
    moved.push_back(fmt::format("{} of {}", one.collective, format_bytes(one.bytes)));
  }
  const std::string gemm = fmt::format("GEMM {} per GPU", gemm_text(problem));
  const std::string collective = join(moved, " + ");
  const std::string where = fmt::format("{} ranks of {}", problem.ranks, report.machine);
  switch (problem.relation) {
    case Relation::independent:
      return fmt::format("{} beside an independent {}, {}", gemm, collective, where);
    case Relation::gemm_needs_collective:
      return fmt::format("{}, then {} on its output, {}", collective, gemm, where);
    case Relation::collective_needs_gemm:
      break;
  }
  return fmt::format("{}, then {} of its output, {}", gemm, collective, where);
}

/// The GEMM over all ranks: the whole that is divided among them.
std::string global_shape(const OverlapProblem& problem) {
  if (problem.relation == Relation::independent) return {};
  GemmShape gemm = problem.gemm();
  const Collective collective = problem.collective().collective;
  if (collective == "all-to-all" ||
      (collective == "all-gather" && problem.relation == Relation::collective_needs_gemm)) {
    gemm.m *= problem.ranks;
  } else if (collective == "all-gather") {
    gemm.n *= problem.ranks;
  } else {
    gemm.k *= problem.ranks;
  }
  return to_string(gemm);
}

}  // namespace

bool has_gain(Nanoseconds serial, Nanoseconds ideal) {
  constexpr double kLeastGain = 1.01;
  return microseconds(serial) >= kLeastGain * microseconds(ideal);
}

double share_of_ideal(Nanoseconds serial, Nanoseconds ideal, Nanoseconds time) {
  if (!has_gain(serial, ideal) || ideal.value == 0 || time.value == 0) return 0;
  const auto over = [&](Nanoseconds t) { return microseconds(serial) / microseconds(t) - 1; };
  return over(time) / over(ideal);
}

report::Document overlap_document(const OverlapReport& report) {
  const OverlapRow* chosen = report.row(report.choice);
  // Then serial is not among the rows.
  const bool slower = report.objective == report::Objective::time && chosen != nullptr && chosen->time > report.serial;
  const std::string recommended = slower ? "serial" : report.choice;
  const OverlapProblem& problem = report.problem;
  report::Document document{.schema = "cortado.overlap", .version = 2, .title = title(report)};
  const std::string global = global_shape(problem);
  if (!global.empty()) document.about.push_back(fmt::format("GEMM over all ranks: {}", global));
  document.about.push_back(
      report.simulated ? fmt::format("predicted by the simulator for {}", report.where)
                       : fmt::format("measured on {}; medians of {} iterations", report.where, report.iterations));
  if (!report.clock.empty()) document.about.push_back(report.clock);
  document.about.push_back(fmt::format("alone: GEMM {:.1f} us ({}-bound), collective {:.1f} us ({})",
                                       microseconds(report.gemm_alone), report.memory_bound ? "memory" : "compute",
                                       microseconds(report.comm_alone), report.scenario));
  const bool faster = report.simulated && report.ideal < report.comm_alone && report.gemm_alone <= report.ideal;
  document.about.push_back(
      fmt::format("serial {:.1f} us, ideal {:.1f} us{}: ideal speed-up {:.2f}x", microseconds(report.serial),
                  microseconds(report.ideal), faster ? " (the library's collective is not the fastest)" : "",
                  report.ideal.value == 0 ? 1 : microseconds(report.serial) / microseconds(report.ideal)));
  Cell::List collectives;
  Bytes bytes;
  for (const CollectiveRequest& one : problem.collectives) {
    collectives.emplace_back(one.collective.name());
    bytes += one.bytes;
  }
  document.facts = {
      {"gemm", gemm_text(problem), "GEMM on each GPU"},
      {"global_gemm", global.empty() ? Cell() : Cell(global), "the GEMM over all ranks; null: independent"},
      {"collective", collectives.size() == 1 ? Cell(collectives.front()) : Cell(collectives),
       "name, or a list of them"},
      {"bytes", bytes, "total size of the collectives' whole buffers"},
      {"relation", name_of(problem.relation), "independent, gemm-needs-collective or collective-needs-gemm"},
      {"ranks", problem.ranks, "number of GPUs"},
      {"machine", report.machine, "modelled machine"},
      {"where", report.where, "modelled machine or device"},
      {"simulated", report.simulated, "predicted; otherwise measured"},
      {"clock", report.clock.empty() ? Cell() : Cell(report.clock),
       "what determines the clock of GEMMs; null: measured"},
      {"iterations", report.simulated ? Cell() : Cell(report.iterations), "measured iterations of each program"},
      {"serial_us", microseconds(report.serial), "GEMM and library collective, one after the other"},
      {"ideal_us", microseconds(report.ideal),
       "the longer of the two alone, each as fast as any strategy may run it; for a collective after a GEMM, whose "
       "launches can be hidden, the time on the links; for an all-reduce this only covers the "
       "reduce-scatter, and the following all-gather is added; or the library does all of it after the GEMM, if that "
       "is faster"},
      {"gemm_alone_us", microseconds(report.gemm_alone), "GEMM alone"},
      {"comm_alone_us", microseconds(report.comm_alone), "library collective alone"},
      {"class", report.scenario, "G-long, C-long or GC-equal"},
      {"memory_bound", report.memory_bound, "whether the GEMM is memory-bound"},
      {"objective", name_of(report.objective), "criterion of the choice"},
      {"choice", recommended,
       "recommended strategy: the first one within 0.1 % of the best; serial if all that were requested are slower"},
      {"reason", report.reason, "why"},
      {"note", report.note, "how to read it"}};
  report::Table rows = report::table_of<OverlapRow>("rows", "one per strategy", fields(report), report.rows);
  rows.charts = {{.title = "Time by strategy",
                  .values = {"time_us"},
                  .labels = {"strategy"},
                  .marked = recommended,
                  .about = slower ? "None of these is recommended: serial is faster."
                                  : fmt::format("The recommended strategy is marked: {}.", recommended)}};
  document.measured = !report.simulated;
  document.tables = {std::move(rows), report::skipped_table(report.skipped, "strategy")};
  document.notes = report::skipped_notes(report.skipped);
  for (const OverlapRow& row : report.rows) {
    if (row.bound || row.share_of_ideal <= kAboveIdeal) continue;
    document.notes.emplace_back("more than 100 % of ideal: faster than the GEMM or the collective alone");
    break;
  }
  if (!report.note.empty()) document.notes.push_back(report.note);
  const bool any = std::ranges::any_of(report.rows, [](const OverlapRow& row) { return !row.bound; });
  document.answer = {!any     ? fmt::format("nothing to recommend: {}", report.reason)
                     : slower ? fmt::format("use serial, not what was requested: {}", report.reason)
                              : fmt::format("{}use {}: {}", report.among_requested ? "of those requested, " : "",
                                            recommended, report.reason)};
  return document;
}

}  // namespace cortado::pipeline
