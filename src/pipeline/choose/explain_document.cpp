#include <fmt/format.h>

#include "base/text.hpp"
#include "pipeline/explain.hpp"
#include "report/energy.hpp"
#include "report/skipped.hpp"

namespace cortado::pipeline {
namespace {

using report::Column;
using report::Fact;
using report::Row;
using report::Table;

std::vector<Column> candidate_columns() {
  return {{"variant", "variant", "", 0, "variant of the collective"},
          {"prelaunch", "prelaunch", "", 0, "queues are submitted ahead of time and started by a trigger"},
          {"in_place", "in place", "", 0, "input and output share a buffer"},
          {"time_us", "time", "us", 2, "simulated"}};
}

Row candidate_cells(const TimedCandidate* candidate) {
  if (candidate == nullptr) return Row(candidate_columns().size());
  return {candidate->request.variant, candidate->request.prelaunch, candidate->request.in_place,
          microseconds(candidate->time)};
}

void add_candidate(const std::string& name, const TimedCandidate* candidate, const std::optional<EnergyUse>& energy,
                   std::vector<Fact>& facts) {
  Row cells = candidate_cells(candidate);
  for (const Column& column : candidate_columns()) {
    facts.push_back({name + "." + column.key, cells.front(), column.meaning});
    cells.erase(cells.begin());
  }
  for (Fact& fact : report::energy_facts(energy, name + ".")) facts.push_back(std::move(fact));
}

void add_phases(const std::string& name, const std::optional<PathPhases>& phases, std::vector<Fact>& facts) {
  for (std::size_t i = 0; i < kPathPhaseNames.size(); ++i) {
    facts.push_back({fmt::format("{}.{}", name, kPathPhaseNames[i]),
                     phases ? report::Cell(microseconds(phases->in_order()[i])) : report::Cell(),
                     fmt::format("{} on the critical path", kPathPhaseWords[i])});
  }
}

Table candidates(const ChoiceRow& row) {
  Table table{.key = "candidates", .meaning = "candidates that fit, fastest first", .columns = candidate_columns()};
  table.columns.push_back({"of_best", "of best", "", 2, "its time over that of the fastest"});
  for (const TimedCandidate& candidate : row.fitting) {
    Row cells = candidate_cells(&candidate);
    cells.emplace_back(microseconds(candidate.time) / microseconds(row.best().time));
    table.add(std::move(cells));
  }
  table.charts = {{.title = "Time", .values = {"time_us"}, .labels = {"variant", "prelaunch"}}};
  return table;
}

Table refused(const ChoiceRow& row) {
  Table table{.key = "refused",
              .meaning = "candidates that do not fit",
              .columns = {{.key = "variant", .meaning = "variant of the collective"},
                          {.key = "prelaunch", .meaning = "queues submitted ahead of time"},
                          {.key = "reason.code", .meaning = "its code ([errors.md](errors.md))"},
                          {.key = "reason.message", .meaning = "the reason"},
                          {.key = "reason.hint", .meaning = "what to do about it"}},
              .data_only = true};
  for (const RefusedCandidate& one : row.refused) {
    table.add({one.request.variant, one.request.prelaunch, one.reason.code, one.reason.message, one.reason.hint});
  }
  return table;
}

Table best_by_size(const ChoiceTable& rows) {
  Table table{.key = "best_by_size",
              .meaning = "the fastest candidate at other sizes",
              .columns = candidate_columns(),
              .data_only = true};
  table.columns.insert(table.columns.begin(), Column{.key = "bytes", .meaning = "size of the whole buffer"});
  for (const ChoiceRow& row : rows) {
    Row cells = candidate_cells(&row.best());
    cells.insert(cells.begin(), row.bytes);
    table.add(std::move(cells));
  }
  return table;
}

std::string energy_text(const Explanation& explanation) {
  const auto both = [](const std::optional<EnergyUse>& energy) {
    return fmt::format("{} J, {} W per GPU on average", report::joules_text(energy), report::watts_text(energy));
  };
  std::string text = fmt::format("It uses {}", both(explanation.energy));
  if (explanation.runner_up_energy) text += fmt::format("; the second uses {}", both(explanation.runner_up_energy));
  return text + ".";
}

}  // namespace

report::Document explain_document(const Explanation& explanation, const std::string& collective) {
  report::Document document{.schema = "cortado.explain"};
  const ChoiceRow& row = explanation.row;
  const TimedCandidate* best = row.fitting.empty() ? nullptr : &row.fitting.front();
  const TimedCandidate* second = row.fitting.size() > 1 ? &row.fitting[1] : nullptr;
  std::vector<std::string> words;
  if (best != nullptr) {
    for (const std::string& sentence : sentences(explanation)) words.push_back(sentence);
  }
  document.facts = {{"collective", collective, "name of the collective"},
                    {"bytes", row.bytes, "size of the whole buffer, as in nccl-tests"},
                    {"machine", explanation.machine, "modelled machine"},
                    {"ranks", explanation.ranks, "number of GPUs"},
                    {"sentences", words, "what is chosen, why, and by what margin"},
                    {"evidence", explanation.evidence, "known errors of the model here"},
                    {"verdict", explanation.verdict, "what these errors mean for the choice; empty: not known"}};
  add_candidate("chosen", best, explanation.energy, document.facts);
  add_candidate("runner_up", second, explanation.runner_up_energy, document.facts);
  add_phases("phases_us", explanation.phases, document.facts);
  add_phases("runner_up_phases_us", explanation.runner_up, document.facts);
  document.title = fmt::format("{} of {} on {} ranks of {}", collective, format_bytes(row.bytes), explanation.ranks,
                               explanation.machine);
  document.answer = std::move(words);
  document.answer_first = true;
  if (explanation.energy) document.answer.push_back(energy_text(explanation));
  if (!explanation.verdict.empty()) document.answer.push_back(explanation.verdict);
  document.tables = {candidates(row), refused(row), best_by_size(explanation.table)};
  for (const std::string& line : explanation.evidence) document.notes.push_back(line);
  for (const RefusedCandidate& one : row.refused) {
    document.notes.push_back(fmt::format("{} does not fit: {}", way_name(one.request), one.reason.message));
  }
  return document;
}

report::Document explain_sizes_document(const std::vector<Explanation>& by_size, const std::string& collective) {
  report::Document document{.schema = "cortado.explain_sizes"};
  const Explanation* first = by_size.empty() ? nullptr : &by_size.front();
  document.facts = {{"collective", collective, "name of the collective"},
                    {"machine", first ? report::Cell(first->machine) : report::Cell(), "modelled machine"},
                    {"ranks", first ? report::Cell(first->ranks) : report::Cell(), "number of GPUs"}};
  document.title = fmt::format("what auto picks for {} on {} ranks of {}, by simulation", collective,
                               first ? first->ranks : 0, first ? first->machine : "");
  Table table{
      .meaning = "one per size",
      .columns = {
          {.key = "bytes", .head = "size", .meaning = "size of the whole buffer"},
          {.key = "chosen", .head = "auto picks", .meaning = "the fastest variant"},
          {"time_us", "time", "us", 2, "its time"},
          {.key = "longest_phase", .head = "mostly", .meaning = "where most of its time goes"},
          {"longest_phase_us", "of it", "us", 2, "time of that phase"},
          {.key = "runner_up", .head = "next", .meaning = "the second; null: only one fits"},
          {"of_best", "times as long", "", 2, "time of the second over that of the fastest"},
          {.key = "sentences", .meaning = "the explanation in words", .view = report::View::data},
          {.key = "evidence", .meaning = "known errors of the model near this size", .view = report::View::data}}};
  for (const Explanation& one : by_size) {
    const auto& fitting = one.row.fitting;
    const std::size_t longest = longest_phase(one.phases);
    const bool two = fitting.size() > 1;
    report::Cell::List words;
    for (const std::string& sentence : sentences(one)) words.emplace_back(sentence);
    table.add({report::Cell(one.row.bytes).shown_as(format_bytes(one.row.bytes)), way_name(one.row.best().request),
               microseconds(one.row.best().time), std::string(kPathPhaseWords[longest]),
               microseconds(one.phases.in_order()[longest]),
               two ? report::Cell(way_name(fitting[1].request)) : report::Cell(),
               two ? report::Cell(microseconds(fitting[1].time) / microseconds(one.row.best().time)) : report::Cell(),
               words, one.evidence});
    if (one.verdict.starts_with("Correcting for the known errors does not change the choice") || one.verdict.empty())
      continue;
    document.notes.push_back(fmt::format("{}: {}", format_bytes(one.row.bytes), one.verdict));
  }
  document.tables = {std::move(table)};
  return document;
}

}  // namespace cortado::pipeline
