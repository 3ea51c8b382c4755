// What a strategy of the list (cortado/plan.hpp) is asked, and the search among them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/plan.hpp"
#include "cortado/program.hpp"
#include "cortado/result.hpp"

#include "gemm/gemm.hpp"
#include "plan/c3.hpp"
#include "plan/choose_schedule.hpp"
#include "plan/cost.hpp"
#include "plan/ficco.hpp"

namespace cortado {

/// Of an all-reduce behind a GEMM: the reduce-scatter. Else the problem itself.
OverlapProblem overlapping_part(const OverlapProblem& problem);

/// A dependent problem as FiCCO plans it.
DependentRequest dependent_request(const OverlapProblem& problem);

/// The collective of a dependent problem alone, as `request` does it: an all-to-all with the rows of its table.
Result<Program> plan_collective_of(const OverlapProblem& problem, const CollectiveRequest& request,
                                   const Machine& machine);

/// Predicted times by which strategies decide.
struct StrategyCosts {
  const CostModel& model;
  std::function<Result<Nanoseconds>(const Program&, std::optional<ArbitrationPolicy>)> simulate;
};

/// What a strategy is asked; the problem was checked.
struct OverlapQuestion {
  const OverlapProblem& problem;
  const Machine& machine;
  const StrategyCosts& costs;
  StrategyKnobs knobs{};
};

/// The best that a search over strategies, variants and numbers of chunks predicts. For a dependent problem among the
/// schedules of the family; of all, also c3.
Result<PlannedOverlap> plan_searched(const OverlapQuestion& question, ScheduleFamily family = ScheduleFamily::all);

}  // namespace cortado
