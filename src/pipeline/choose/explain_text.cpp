#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"
#include "pipeline/explain.hpp"

namespace cortado::pipeline {
namespace {

std::string us(Nanoseconds time) {
  return fmt::format("{:.2f} us", microseconds(time));
}

double percent(Nanoseconds part, Nanoseconds whole) {
  return whole.value == 0 ? 0 : 100.0 * static_cast<double>(part.value) / static_cast<double>(whole.value);
}

std::string what_is_chosen(const Explanation& explanation) {
  const TimedCandidate& best = explanation.row.best();
  const std::size_t fitting = explanation.row.fitting.size();
  const std::string task = fmt::format("For {} of {} on {} ranks of {}", best.request.collective,
                                       format_bytes(explanation.row.bytes), explanation.ranks, explanation.machine);
  if (fitting == 1) {
    return fmt::format("{}, {} is the only candidate that fits, and it takes {} by simulation.", task,
                       way_name(best.request), us(best.time));
  }
  return fmt::format("{}, {} is the fastest of {} candidates by simulation, at {}.", task, way_name(best.request),
                     fitting, us(best.time));
}

/// "host control 20 %, scheduling 30 %, ...", without the phase that was already named
std::string other_shares(const PathPhases& phases, std::size_t without) {
  std::vector<std::string> shares;
  for (std::size_t i = 0; i < kPathPhaseWords.size(); ++i) {
    if (i == without) continue;
    shares.push_back(fmt::format("{} {:.1f} %", kPathPhaseWords[i], percent(phases.in_order()[i], phases.total())));
  }
  return join(shares);
}

/// The phase in which the second loses most; none if they tie.
std::string what_it_saves(const Explanation& explanation) {
  const std::string second = way_name(explanation.row.fitting[1].request);
  const auto own = explanation.phases.in_order();
  const auto others = explanation.runner_up->in_order();
  std::size_t most = 0;
  for (std::size_t i = 1; i < own.size(); ++i) {
    if (others[i] - own[i] > others[most] - own[most]) most = i;
  }
  if (others[most] <= own[most]) return fmt::format("and no phase of {} takes longer", second);
  return fmt::format("and its advantage over {} is mostly {}: {} instead of {}", second, kPathPhaseWords[most],
                     us(own[most]), us(others[most]));
}

std::string where_time_goes(const Explanation& explanation) {
  const std::size_t longest = longest_phase(explanation.phases);
  std::string text =
      fmt::format("The largest part of that is {}, {:.1f} % of the critical path ({})", kPathPhaseWords[longest],
                  percent(explanation.phases.in_order()[longest], explanation.phases.total()),
                  other_shares(explanation.phases, longest));
  if (explanation.runner_up) text += ", " + what_it_saves(explanation);
  return text + ".";
}

std::string who_is_second(const ChoiceRow& row) {
  if (row.fitting.size() == 1) return "There is no other candidate";
  const TimedCandidate& second = row.fitting[1];
  const Nanoseconds loss = second.time - row.best().time;
  if (loss.value == 0) return fmt::format("{} is just as fast", way_name(second.request));
  return fmt::format("{} comes second at {}, {:.1f} % more", way_name(second.request), us(second.time),
                     percent(loss, row.best().time));
}

std::string where_it_changes(const Explanation& explanation) {
  const ChoiceChanges changes =
      changes_around(explanation.table, explanation.row.bytes, explanation.row.best().request);
  const auto change = [](const ChoiceRow& row) {
    return fmt::format("to {}, first at {}", way_name(row.best().request), format_bytes(row.bytes));
  };
  const Bytes smallest = explanation.table.front().bytes;
  const Bytes largest = explanation.table.back().bytes;
  if (changes.below != nullptr && changes.above != nullptr) {
    return fmt::format("for smaller sizes the choice changes {}, for larger ones {}", change(*changes.below),
                       change(*changes.above));
  }
  if (changes.below != nullptr) {
    return fmt::format("for smaller sizes the choice changes {}", change(*changes.below)) +
           (largest > explanation.row.bytes ? fmt::format("; up to {} it stays the same", format_bytes(largest)) : "");
  }
  if (changes.above != nullptr) {
    return fmt::format("for larger sizes the choice changes {}", change(*changes.above)) +
           (smallest < explanation.row.bytes ? fmt::format("; down to {} it stays the same", format_bytes(smallest))
                                             : "");
  }
  return fmt::format("from {} to {} the choice stays the same", format_bytes(smallest), format_bytes(largest));
}

std::string second_and_changes(const Explanation& explanation) {
  const ChoiceTable& table = explanation.table;
  const std::string second = who_is_second(explanation.row);
  const bool alone =
      std::all_of(table.begin(), table.end(), [&](const ChoiceRow& row) { return row.bytes == explanation.row.bytes; });
  if (alone) return fmt::format("{}; other sizes were not considered.", second);
  return fmt::format("{}; {}.", second, where_it_changes(explanation));
}

}  // namespace

std::array<std::string, 3> sentences(const Explanation& explanation) {
  return {what_is_chosen(explanation), where_time_goes(explanation), second_and_changes(explanation)};
}

}  // namespace cortado::pipeline
