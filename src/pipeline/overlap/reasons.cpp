#include "pipeline/overlap/reasons.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "report/energy.hpp"

namespace cortado::pipeline {
namespace {

using report::Objective;

std::string family_of(const OverlapRow& row) {
  const auto named = find_strategy(row.strategy);
  CORTADO_CHECK(named.has_value(), "rows are named after strategies");
  return named->strategy->family;
}

/// "takes 12 % longer", "takes 3.0 times as long", "is equally fast"
std::string compared(Nanoseconds time, Nanoseconds other) {
  const double percent = 100 * (microseconds(time) / microseconds(other) - 1);
  constexpr double kWhole = 0.95;  // what rounds to less than one percent gets a digit more
  if (percent <= 100 * (kLevelWithin - 1)) return "is equally fast";
  if (percent < kWhole) return fmt::format("takes {:.1f} % longer", percent);
  if (std::round(percent) < 100) return fmt::format("takes {:.0f} % longer", percent);
  return fmt::format("takes {:.1f} times as long", 1 + percent / 100);
}

/// The fastest of every other family.
std::vector<std::string> other_families(const OverlapReport& report, const OverlapRow& best) {
  const std::string own = family_of(best);
  std::vector<std::pair<std::string, const OverlapRow*>> fastest;
  for (const OverlapRow& row : report.rows) {
    const std::string family = family_of(row);
    if (row.bound || family == own) continue;
    const auto known = std::ranges::find(fastest, family, &std::pair<std::string, const OverlapRow*>::first);
    if (known == fastest.end()) {
      fastest.emplace_back(family, &row);
    } else if (row.time < known->second->time) {
      known->second = &row;
    }
  }
  std::vector<std::string> sentences;
  for (const auto& [family, row] : fastest) {
    sentences.push_back(fmt::format("{} {}", row->strategy, compared(row->time, best.time)));
  }
  return sentences;
}

/// The fastest of its family where that is another one, which is level with it: other families are compared anyway.
const OverlapRow* level_with(const OverlapReport& report, const OverlapRow& best) {
  const OverlapRow* fastest = &best;
  for (const OverlapRow& row : report.rows) {
    if (!row.bound && row.time < fastest->time && family_of(row) == family_of(best)) fastest = &row;
  }
  return fastest == &best ? nullptr : fastest;
}

std::string time_reason(const OverlapReport& report, const OverlapRow& best) {
  std::vector<std::string> sentences;
  const std::string_view bottleneck =
      report.gemm_alone < std::min(report.comm_alone, report.ideal) ? "collective" : "GEMM";
  if (!has_gain(report.serial, report.ideal)) {
    sentences.push_back(fmt::format("little to gain: serial takes no longer than the {} alone", bottleneck));
  } else if (family_of(best) == "serial") {
    sentences.emplace_back(report.rows.size() > 1 ? "no overlapping strategy is faster"
                                                  : "no overlapping strategy was requested or could be planned");
  } else if (best.time > report.serial) {
    sentences.push_back(fmt::format("{} {}", best.strategy, compared(best.time, report.serial)));
  } else {
    sentences.push_back(fmt::format("it achieves {:.0f} % of the ideal gain; the {} is the bottleneck",
                                    100 * best.share_of_ideal, bottleneck));
  }
  if (const OverlapRow* level = level_with(report, best)) {
    sentences.push_back(fmt::format("{} is equally fast", level->strategy));
  }
  if (best.dil && std::abs(*best.dil - 1) >= 0.005) {
    // Tiles that wait or release are those of one GEMM, but others than a library would take.
    const bool tiles = family_of(best) == "tiles";
    const bool split = best.steps > 1;
    const std::string_view what = tiles   ? "its tiles make the GEMM take"
                                  : split ? "the split GEMM takes"
                                          : "its GEMM takes";
    const std::string_view than = tiles ? "library's" : split ? "whole one" : "GEMM alone";
    constexpr double kTwice = 2;
    sentences.push_back(*best.dil >= kTwice
                            ? fmt::format("{} {:.0f} times as long as the {}", what, *best.dil, than)
                            : fmt::format("{} {:.0f} % {} than the {}", what, std::abs(100 * (*best.dil - 1)),
                                          *best.dil < 1 ? "less time" : "longer", than));
  }
  for (std::string& sentence : other_families(report, best)) sentences.push_back(std::move(sentence));
  return join(sentences, "; ");
}

/// "5 % less time", "5 % more energy", "as much energy"
std::string against(double value, double best, std::string_view what) {
  const double percent = std::round(100 * (value / best - 1));
  if (percent == 0) return fmt::format("the same {}", what);
  return fmt::format("{:.0f} % {} {}", std::abs(percent), percent < 0 ? "less" : "more", what);
}

/// "takes 5 % less time and 8 % more energy", than the best.
std::string both(const OverlapRow& row, const OverlapRow& best) {
  return fmt::format("takes {} and {}", against(microseconds(row.time), microseconds(best.time), "time"),
                     against(row.energy->joules(), best.energy->joules(), "energy"));
}

std::string energy_reason(const OverlapReport& report, const OverlapRow& best) {
  CORTADO_CHECK(best.energy.has_value(), "rows that are ranked by energy have one");
  std::vector<std::string> sentences{fmt::format(
      "{} {} J in {:.1f} us, {} W per GPU",
      report.objective == Objective::energy ? "it uses the least energy," : "it has the lowest energy x time:",
      report::joules_text(best.energy), microseconds(best.time), report::watts_text(best.energy))};
  const OverlapRow* fastest = &best;
  for (const OverlapRow& row : report.rows) {
    if (!row.bound && row.time < fastest->time) fastest = &row;
  }
  if (fastest == &best) {
    sentences.emplace_back("nothing is faster");
  } else {
    sentences.push_back(fmt::format("{}, the fastest, {}", fastest->strategy, both(*fastest, best)));
  }
  const OverlapRow* serial = report.row("serial");
  if (serial != nullptr && serial != &best && serial != fastest) sentences.push_back("serial " + both(*serial, best));
  return join(sentences, "; ");
}

}  // namespace

std::string overlap_reason(const OverlapReport& report, const OverlapRow& best) {
  return report.objective == Objective::time ? time_reason(report, best) : energy_reason(report, best);
}

void add_cap_note(OverlapReport& report, const Machine& machine) {
  const auto above = [&](const OverlapRow& row) {
    return machine.power && row.energy && row.energy->watts() > machine.power->cap_w;
  };
  if (std::ranges::none_of(report.rows, above)) return;
  if (!report.note.empty()) report.note += "; ";
  report.note += fmt::format(
      "rows above {:g} W exceed the board's power cap, so real clocks would be lower; `cortado power` models this",
      machine.power->cap_w);
}

}  // namespace cortado::pipeline
