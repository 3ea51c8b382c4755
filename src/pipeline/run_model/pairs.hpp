// The pairs of a layer's GEMMs and collectives by the name of a strategy.
#pragma once

#include <string>
#include <vector>

#include "cortado/machine.hpp"

#include "plan/layer.hpp"

namespace cortado::pipeline {

/// What was planned.
struct PairNotes {
  std::vector<std::string> names{};  ///< of the pairs of the program that was planned last
  std::vector<std::string> refused{};
};

/// "tiles" is tiles-ag or tiles-rs, whichever fits, also with a number of chunks ("tiles/2"). FiCCO schedules
/// use fewer chunks than requested if there are too few rows. A pair to which the strategy does not apply is
/// serial-dma, with a note why. Unknown names are refused (overlap.strategy). Empty for "serial". All must outlive it.
Result<PairPlanner> pair_planner(const std::string& strategy, const Machine& machine, PairNotes& notes);

}  // namespace cortado::pipeline
