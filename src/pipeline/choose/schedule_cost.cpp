#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>

#include "cortado/pipeline/choose_schedule.hpp"
#include "cortado/sim/simulate.hpp"

#include "pipeline/overlap/step_model.hpp"

namespace cortado::pipeline {
namespace {

class SimulatedScheduleCost : public ScheduleCost {
 public:
  explicit SimulatedScheduleCost(const Machine& machine) : machine_(machine) {}

  Result<Nanoseconds> least(const DependentRequest& request, const FiccoSchedule& schedule) const override {
    return by_steps(request, schedule, Sharing::ignored);
  }

  Result<Nanoseconds> likely(const DependentRequest& request, const FiccoSchedule& schedule) const override {
    return by_steps(request, schedule, Sharing::modelled);
  }

  Result<Nanoseconds> time(const DependentRequest& request, const FiccoSchedule& schedule) const override {
    CORTADO_ASSIGN_OR_RETURN(FiccoPlan plan, plan_ficco(request, schedule, machine_));
    // A choice needs no proof.
    CORTADO_ASSIGN_OR_RETURN(const sim::Simulated simulated,
                             sim::simulate(unproved(std::move(plan.program), machine_), {.energy = false}));
    return median_time(simulated.timeline);
  }

 private:
  /// Of the rank that is last.
  Result<Nanoseconds> by_steps(const DependentRequest& request, const FiccoSchedule& schedule,
                               Sharing contention) const {
    CORTADO_RETURN_IF_ERROR(sim::check_timing(machine_));
    CORTADO_ASSIGN_OR_RETURN(const std::vector<FiccoOutline> outlines, outline_ficco(request, schedule, machine_));
    const TilingOf tiling_of = [this](const GemmShape& shape) { return this->tiling_of(shape); };
    Nanoseconds last{};
    for (const FiccoOutline& outline : outlines) {
      if (outline.footprint > machine_.memory_bytes) {  // the plan says so in its words
        if (const auto plan = plan_ficco(request, schedule, machine_); !plan) return fail(plan.error());
      }
      last = std::max(last, time_of_steps(outline, machine_, tiling_of, contention));
    }
    return last;
  }

  /// Most candidates have products of the same shapes.
  Tiling tiling_of(const GemmShape& shape) const {
    const std::tuple key{shape.m, shape.n, shape.k, shape.dtype, shape.accumulate};
    {
      const std::scoped_lock guard(lock_);
      if (const auto known = tilings_.find(key); known != tilings_.end()) return known->second;
    }
    const Tiling tiling = choose_tiling(shape, machine_, machine_.compute_units);
    const std::scoped_lock guard(lock_);
    return tilings_.emplace(key, tiling).first->second;
  }

  const Machine& machine_;
  mutable std::mutex lock_;
  mutable std::map<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, DType, bool>, Tiling> tilings_;  // by lock_
};

}  // namespace

std::unique_ptr<ScheduleCost> simulated_schedule_cost(const Machine& machine) {
  return std::make_unique<SimulatedScheduleCost>(machine);
}

}  // namespace cortado::pipeline
