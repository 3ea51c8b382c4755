#include <algorithm>

#include "cortado/pipeline/choose_schedule.hpp"
#include "cortado/sim/simulate.hpp"

#include "sim/fast/fast.hpp"

namespace cortado::pipeline {
namespace {

/// A choice needs no proof.
VerifyOptions no_rules() {
  VerifyOptions options;
  for (const RuleInfo& rule : verify_rules()) options.skip_rules.emplace_back(rule.code);
  return options;
}

class SimulatedScheduleCost : public ScheduleCost {
 public:
  explicit SimulatedScheduleCost(const Machine& machine) : machine_(machine) {}

  Result<Nanoseconds> least(const DependentRequest& request, const FiccoSchedule& schedule) const override {
    return by_steps(request, schedule, sim::Sharing::ignored);
  }

  Result<Nanoseconds> likely(const DependentRequest& request, const FiccoSchedule& schedule) const override {
    return by_steps(request, schedule, sim::Sharing::modelled);
  }

  Result<Nanoseconds> time(const DependentRequest& request, const FiccoSchedule& schedule) const override {
    CORTADO_ASSIGN_OR_RETURN(FiccoPlan plan, plan_ficco(request, schedule, machine_));
    const auto program = verify(std::move(plan.program), machine_, no_rules());
    if (!program) return fail(program.error().front());
    CORTADO_ASSIGN_OR_RETURN(const sim::Simulated simulated, sim::simulate(*program, {.energy = false}));
    return median_time(simulated.timeline);
  }

 private:
  /// Of the rank that is last.
  Result<Nanoseconds> by_steps(const DependentRequest& request, const FiccoSchedule& schedule,
                               sim::Sharing sharing) const {
    CORTADO_RETURN_IF_ERROR(sim::check_timing(machine_));
    CORTADO_ASSIGN_OR_RETURN(const std::vector<RankProgram> ranks, plan_ficco_ranks(request, schedule, machine_));
    Nanoseconds last{};
    for (const RankProgram& rank : ranks) {
      last = std::max(last, sim::time_of_rank(rank.program, rank.closed, machine_, sharing));
    }
    return last;
  }

  const Machine& machine_;
};

}  // namespace

std::unique_ptr<ScheduleCost> simulated_schedule_cost(const Machine& machine) {
  return std::make_unique<SimulatedScheduleCost>(machine);
}

}  // namespace cortado::pipeline
