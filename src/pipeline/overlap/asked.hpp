// The requested strategies of a study.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/plan.hpp"
#include "cortado/study.hpp"

#include "plan/choose_schedule.hpp"

namespace cortado::pipeline {

/// A requested strategy; without one, the best that a search finds.
struct Asked {
  std::string name;
  NamedStrategy named{};
  ScheduleFamily searched = ScheduleFamily::all;  ///< less what other rows search

  bool by_name = false;  ///< else its row may be left out where it is of no interest

  bool is(std::string_view strategy) const { return named.strategy && named.strategy->name == strategy; }
  bool is_serial() const { return is("serial"); }
  bool is_direct() const { return is("serial-direct"); }
  /// These are parts of the basis, and ideals follow from it.
  bool has_program() const { return !is_serial() && !is_direct() && (!named.strategy || named.strategy->plan); }
};

/// For a checked problem. Named strategies that do not apply go to `skipped`; fails if none is left.
Result<std::vector<Asked>> find_asked(const OverlapProblem& problem, const Machine& machine,
                                      const OverlapOptions& options, std::vector<report::SkippedWay>& skipped);

}  // namespace cortado::pipeline
