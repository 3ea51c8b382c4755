// Choosing a FiCCO schedule from shapes alone: a small decision tree over numbers that follow from the GEMM, the
// collective and the machine. Nothing is planned or simulated; a guess takes some ten microseconds (docs/models.md).
//
// It chooses among serial and the four published schedules, with as many chunks as ranks. The tree was fitted to
// simulated times on mi300x-8 (src/plan/heuristic, data/schedules/training.csv); docs/models.md prints it and says what
// its tests mean.
#pragma once

#include "cortado/machine.hpp"
#include "cortado/result.hpp"

#include "plan/ficco.hpp"

namespace cortado {

struct ScheduleGuess {
  FiccoSchedule schedule;
  double confidence = 0;  ///< share of the training shapes of its leaf for which it is the fastest
  double mean_loss = 0;   ///< over these shapes; 0.01 = 1 % slower than the fastest
  double margin = 0;      ///< the least rough time of the other four over its own; below 1 where the tree knows better
};

/// Refuses GEMMs that no machine or not this one can do (check_gemm), and fewer ranks than two (ficco.ranks). Rows
/// that differ between ranks count as their mean.
Result<ScheduleGuess> guess_schedule(const DependentRequest& request, const Machine& machine);

}  // namespace cortado
