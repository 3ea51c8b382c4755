// The two makers of programs. Request and schedule were checked. `only`: of the rank that stands for all.
#pragma once

#include <optional>

#include "plan/ficco.hpp"

namespace cortado::plan {

Result<FiccoPlan> plan_collective_first(const DependentRequest& request, const FiccoSchedule& schedule,
                                        const Machine& machine, std::optional<std::uint32_t> only);
Result<FiccoPlan> plan_product_first(const DependentRequest& request, const FiccoSchedule& schedule,
                                     const Machine& machine, std::optional<std::uint32_t> only);

/// Of Grain::tiles and Grain::waves (src/plan/tiles).
Result<FiccoPlan> plan_collective_first_by_tiles(const DependentRequest& request, const FiccoSchedule& schedule,
                                                 const Machine& machine, std::optional<std::uint32_t> only);
Result<FiccoPlan> plan_product_first_by_tiles(const DependentRequest& request, const FiccoSchedule& schedule,
                                              const Machine& machine, std::optional<std::uint32_t> only);

/// Whether the pieces of a step stand one below another in memory of their own.
constexpr bool is_staged(const FiccoSchedule& schedule) {
  return schedule.grain == Grain::shards || (schedule.grain == Grain::chunks && schedule.fused);
}

/// Whether pieces are columns of rows: they have gaps.
constexpr bool has_panels(const FiccoSchedule& schedule) {
  return schedule.grain == Grain::chunks && schedule.shape == CommShape::panels_2d;
}

}  // namespace cortado::plan
