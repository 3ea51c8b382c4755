// Why an overlap takes the time it takes, and how its strategies were chosen.
#include <fmt/format.h>

#include "pipeline/explain.hpp"
#include "plan/overlap.hpp"

namespace cortado::pipeline {
namespace {

using report::Cell;
using report::Document;

std::string guess_text(const ScheduleGuess& guess) {
  return fmt::format(
      "guess from shapes: {}, fastest for {:.1f} % of such shapes in the training set, mean loss {:.1f} %",
      name_of(guess.schedule), 100 * guess.confidence, 100 * guess.mean_loss);
}

/// What the search chooses, and why.
std::string choice_text(const ScheduleChoice& choice) {
  std::string text = fmt::format("auto: {}, by {}, {:.1f} us predicted", full_name(choice.schedule),
                                 cortado::name_of(choice.by), microseconds(choice.time));
  if (choice.by == ChosenBy::heuristic) return text + "; by rough estimates everything else is several times slower";
  const SearchWork& work = choice.work;
  text +=
      fmt::format("; of {} candidates, {} estimated and {} simulated", work.candidates, work.estimated, work.simulated);
  if (!choice.runner_up) return text;
  return text + fmt::format(", next {}: {:.1f} us", full_name(choice.runner_up->schedule),
                            microseconds(choice.runner_up->time));
}

void add_schedule(const std::optional<ScheduleExplanation>& schedule, Document& document) {
  const auto fact = [&](const char* key, auto value, const char* meaning) {
    document.facts.push_back({std::string("schedule.") + key, schedule ? Cell(value(*schedule)) : Cell(), meaning});
  };
  using S = ScheduleExplanation;
  const auto next = [](const S& s) { return s.choice.runner_up; };
  fact(
      "guess", [](const S& s) { return name_of(s.guess.schedule); }, "FiCCO schedule guessed from shapes");
  fact(
      "share_fastest", [](const S& s) { return s.guess.confidence; },
      "share of similar training shapes for which it is fastest; 1 = all");
  fact(
      "mean_loss", [](const S& s) { return s.guess.mean_loss; }, "mean loss over these shapes; 0.01 = 1 % slower");
  fact(
      "found", [](const S& s) { return full_name(s.choice.schedule); }, "schedule that the search picks");
  fact(
      "by", [](const S& s) { return std::string(cortado::name_of(s.choice.by)); }, "heuristic or search");
  fact(
      "time_us", [](const S& s) { return microseconds(s.choice.time); }, "its predicted time");
  fact(
      "candidates", [](const S& s) { return s.choice.work.candidates; }, "schedules and numbers of chunks");
  fact(
      "estimated", [](const S& s) { return s.choice.work.estimated; }, "how many of them the fast model estimated");
  fact(
      "simulated", [](const S& s) { return s.choice.work.simulated; }, "how many of them were simulated in full");
  fact(
      "next", [&](const S& s) { return next(s) ? Cell(full_name(next(s)->schedule)) : Cell(); }, "the runner-up");
  fact(
      "next_us", [&](const S& s) { return next(s) ? Cell(microseconds(next(s)->time)) : Cell(); }, "its time");
}

}  // namespace

Result<std::optional<ScheduleExplanation>> explain_schedule(const OverlapProblem& problem, const Machine& machine) {
  CORTADO_ASSIGN_OR_RETURN(const NamedStrategy ficco, find_strategy("ficco"));
  if (!ficco.strategy->applies(problem, machine)) return std::nullopt;
  const DependentRequest request = dependent_request(overlapping_part(problem));
  CORTADO_ASSIGN_OR_RETURN(const ScheduleGuess guess, guess_schedule(request, machine));
  CORTADO_ASSIGN_OR_RETURN(const ScheduleChoice choice, Chooser(machine, {}).schedule(request));
  return ScheduleExplanation{guess, choice};
}

Document explain_overlap_document(const OverlapReport& report, const std::optional<ScheduleExplanation>& schedule,
                                  const std::vector<std::string>& evidence) {
  Document document = overlap_document(report);
  for (const OverlapRow& row : report.rows) {
    if (!row.how.empty()) document.notes.push_back(fmt::format("{}: {}", row.strategy, row.how));
  }
  for (const std::string& line : evidence) document.notes.push_back(line);
  if (schedule) {
    document.notes.push_back(guess_text(schedule->guess));
    document.notes.push_back(choice_text(schedule->choice));
  }
  document.facts.push_back({"evidence", evidence, "known errors of the model"});
  add_schedule(schedule, document);
  return document;
}

Document why_document(const OverlapReport& report, const report::Characterization& costs) {
  Document document = overlap_document(report);
  Document part = report::characterization_document(costs);
  for (std::string& line : part.about) document.about.push_back(std::move(line));
  for (report::Fact& fact : part.facts) {
    document.facts.push_back({"why." + fact.key, std::move(fact.value), std::move(fact.meaning)});
  }
  for (report::Table& table : part.tables) {
    if (table.key == "skipped") table.key = "skipped_schedules";
    document.tables.push_back(std::move(table));
  }
  for (std::string& note : part.notes) document.notes.push_back(std::move(note));
  return document;
}

}  // namespace cortado::pipeline
