// The strategies that a study is asked for.
#pragma once

#include <string>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/overlap.hpp"
#include "cortado/study.hpp"

#include "plan/choose_schedule.hpp"

namespace cortado::pipeline {

/// A strategy as it was asked for; without one, the searched best.
struct Asked {
  std::string name;
  NamedStrategy named{};
  ScheduleFamily searched = ScheduleFamily::all;  ///< less what other rows search

  bool is_serial() const { return named.strategy && named.strategy->name == "serial"; }
  /// serial is part of the basis, ideals follow from it.
  bool has_program() const { return !is_serial() && (!named.strategy || named.strategy->plan); }
};

/// Of a problem that was checked. What was named and does not apply goes to `skipped`; fails if nothing else is left.
Result<std::vector<Asked>> find_asked(const OverlapProblem& problem, const Machine& machine,
                                      const OverlapOptions& options, std::vector<report::SkippedWay>& skipped);

}  // namespace cortado::pipeline
