#include "pipeline/overlap/study_cost.hpp"

#include <algorithm>
#include <utility>

namespace cortado::pipeline {

Result<Nanoseconds> StudyCost::exact(const DependentRequest& request, const FiccoSchedule& schedule) const {
  if (!rows_) return SimulatedCost::exact(request, schedule);
  CORTADO_ASSIGN_OR_RETURN(FiccoPlan plan, plan_ficco(request, schedule, machine_));
  CheckedProgram program = unproved(std::move(plan.program), machine_);
  auto times = predicted_times(program, *rows_);
  if (!times) return fail(times.error().errors.front());
  const Nanoseconds time = times->time;
  const std::scoped_lock guard(lock_);
  known_.push_back({std::move(program), *std::move(times)});
  return time;
}

std::optional<OverlapTimes> StudyCost::times_of(const Program& program) const {
  const std::scoped_lock guard(lock_);
  const auto found =
      std::ranges::find_if(known_, [&](const Known& known) { return known.program.program() == program; });
  return found == known_.end() ? std::nullopt : std::optional(found->times);
}

}  // namespace cortado::pipeline
