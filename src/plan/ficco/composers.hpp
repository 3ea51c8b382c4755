// The functions that build programs. Request and schedule must have been checked. `only`: for the rank that stands for
// all.
#pragma once

#include <optional>

#include "plan/ficco.hpp"
#include "plan/ficco/bench.hpp"

namespace cortado::plan {

Result<FiccoPlan> plan_collective_first(const DependentRequest& request, const FiccoSchedule& schedule,
                                        const Machine& machine, std::optional<OnlyRank> only);
Result<FiccoPlan> plan_product_first(const DependentRequest& request, const FiccoSchedule& schedule,
                                     const Machine& machine, std::optional<OnlyRank> only);

/// For Grain::tiles and Grain::waves (src/plan/tiles).
Result<FiccoPlan> plan_collective_first_by_tiles(const DependentRequest& request, const FiccoSchedule& schedule,
                                                 const Machine& machine, std::optional<OnlyRank> only);
Result<FiccoPlan> plan_gemm_first_by_tiles(const DependentRequest& request, const FiccoSchedule& schedule,
                                           const Machine& machine, std::optional<OnlyRank> only);

/// The common part: what each of them does with its class.
template <class Composer>
Result<FiccoPlan> composed(const DependentRequest& request, const FiccoSchedule& schedule, const Machine& machine,
                           std::optional<OnlyRank> only) {
  Composer program(request, schedule, machine, only);
  program.add_commands();
  return program.finish();
}

/// Whether the pieces of a step are stored one below another in separate memory.
constexpr bool is_staged(const FiccoSchedule& schedule) {
  return schedule.grain == Grain::shards || (schedule.grain == Grain::chunks && schedule.fused);
}

/// Whether pieces are columns of rows, so that they have gaps.
constexpr bool has_panels(const FiccoSchedule& schedule) {
  return schedule.grain == Grain::chunks && schedule.shape == CommShape::panels_2d;
}

}  // namespace cortado::plan
