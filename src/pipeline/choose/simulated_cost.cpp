#include "pipeline/choose/simulated_cost.hpp"

#include <algorithm>
#include <cmath>

#include "cortado/target.hpp"

#include "pipeline/choose.hpp"
#include "plan/external.hpp"
#include "sim/gpu/simulate.hpp"

namespace cortado::pipeline {
Result<Nanoseconds> SimulatedCost::gemm(const GemmShape& shape, std::uint32_t units) const {
  CORTADO_RETURN_IF_ERROR(check_gemm(shape, machine_));
  // Libraries do not see masks of compute units: they choose their kernel for the whole GPU.
  const Tiling tiling = choose_tiling(shape, machine_, machine_.compute_units);
  const GemmEstimate alone = estimate_gemm(shape, tiling, machine_, units);
  return machine_.timing->cores.launch + gemm_start(machine_) + Nanoseconds{std::llround(alone.seconds * 1e9)};
}

Result<Nanoseconds> SimulatedCost::collective(const CollectiveRequest& request) const {
  CORTADO_ASSIGN_OR_RETURN(const sim::CollectiveProfile known, profile(request));
  return known.time;
}

Result<Nanoseconds> SimulatedCost::together(const OverlapProblem& problem, const OverlapWay& way) const {
  // sim/fast knows one of each.
  if (problem.gemms.size() + way.collectives.size() > 2) return simulated_together(problem, way);
  CollectiveRequest alone = way.collective();
  alone.host = HostThreads::per_rank;
  CORTADO_ASSIGN_OR_RETURN(const sim::CollectiveProfile known, profile(alone));
  if (way.order == LaunchOrder::serial) {
    CORTADO_ASSIGN_OR_RETURN(const Nanoseconds product, gemm(problem.gemm(), machine_.compute_units));
    return product + known.time;
  }
  const auto units = [this](std::uint32_t given) { return given == 0 ? machine_.compute_units : given; };
  return sim::time_beside({.gemm = problem.gemm(),
                           .tiling = tiling_on(way.gemm_cus(), problem.gemm(), machine_),
                           .gemm_units = units(way.gemm_units),
                           .collective_units = way.on_cores() ? units(alone.compute_units) : 0,
                           .collective_first = way.order == LaunchOrder::collective_first},
                          known, machine_);
}

Result<Nanoseconds> SimulatedCost::simulated_together(const OverlapProblem& problem, const OverlapWay& way) const {
  CORTADO_ASSIGN_OR_RETURN(Program program, plan_overlap(problem, way, machine_));
  return simulated_time(unproved(std::move(program), machine_));
}

Result<Nanoseconds> SimulatedCost::least(const DependentRequest& request, const FiccoSchedule& schedule,
                                         Nanoseconds enough) const {
  CORTADO_ASSIGN_OR_RETURN(const Bounds both, bounds(request, schedule, enough, Nanoseconds{}));
  return both.least;
}

Result<Nanoseconds> SimulatedCost::likely(const DependentRequest& request, const FiccoSchedule& schedule) const {
  CORTADO_RETURN_IF_ERROR(sim::check_timing(machine_));
  CORTADO_ASSIGN_OR_RETURN(const auto ranks, plan_ficco_ranks(request, schedule, machine_, kEndless));
  return of_last_rank(ranks, sim::Sharing::modelled);
}

/// Both from one plan.
Result<CostModel::Bounds> SimulatedCost::bounds(const DependentRequest& request, const FiccoSchedule& schedule,
                                                Nanoseconds enough, Nanoseconds best) const {
  CORTADO_RETURN_IF_ERROR(sim::check_timing(machine_));
  CORTADO_ASSIGN_OR_RETURN(const auto ranks, plan_ficco_ranks(request, schedule, machine_, enough));
  Bounds bounds;
  CORTADO_ASSIGN_OR_RETURN(bounds.least, of_last_rank(ranks, sim::Sharing::ignored));
  const bool is_cut = std::ranges::any_of(ranks, &RankProgram::is_cut);
  if (is_cut && bounds.least <= enough) return this->bounds(request, schedule, kEndless, best);
  if (bounds.least >= best) return bounds;
  if (const auto likely = of_last_rank(ranks, sim::Sharing::modelled)) bounds.likely = *likely;
  return bounds;
}

Result<Nanoseconds> SimulatedCost::exact(const DependentRequest& request, const FiccoSchedule& schedule) const {
  CORTADO_ASSIGN_OR_RETURN(FiccoPlan plan, plan_ficco(request, schedule, machine_));
  return simulated_time(unproved(std::move(plan.program), machine_));
}

Result<Nanoseconds> SimulatedCost::simulated_time(const CheckedProgram& program) {
  CORTADO_ASSIGN_OR_RETURN(const sim::Simulated simulated, sim::simulate(program, {.energy = false}));
  return median_time(simulated.timeline);
}

Result<Nanoseconds> SimulatedCost::of_last_rank(const std::vector<RankProgram>& ranks, sim::Sharing sharing) const {
  Nanoseconds last{};
  for (const RankProgram& rank : ranks) {
    CORTADO_ASSIGN_OR_RETURN(const Nanoseconds time, sim::time_of_rank(rank.program, rank.closed, machine_, sharing));
    last = std::max(last, time);
  }
  return last;
}

Result<sim::CollectiveProfile> SimulatedCost::profile(const CollectiveRequest& request) const {
  const auto simulate = [&]() -> Result<sim::CollectiveProfile> {
    CORTADO_ASSIGN_OR_RETURN(Program planned, plan_collective(request, machine_));
    const CheckedProgram program = unproved(std::move(planned), machine_);
    CORTADO_ASSIGN_OR_RETURN(const Nanoseconds time, simulated_time(program));
    return sim::profile_of(program.program(), time);
  };
  if (is_external(request.variant)) return simulate();  // an executable may change
  return cache_.find_or(request, simulate);
}

std::unique_ptr<CostModel> simulated_cost(const Machine& machine) {
  return std::make_unique<SimulatedCost>(machine);
}

StrategyCosts strategy_costs(const CostModel& model, const Machine& machine) {
  const auto simulate = [&machine](const Program& program,
                                   std::optional<ArbitrationPolicy> arbitration) -> Result<Nanoseconds> {
    const auto checked = check_program(
        program, machine,
        {.skip_rules = {"verify.deadlock", "verify.units", "verify.equal_wait", "verify.race", "verify.contract"}});
    if (!checked) return fail(checked.error().front());
    const auto run = simulate_checked(*checked, {.sim = {.arbitration = arbitration, .energy = false}});
    if (!run) return fail(run.error().errors.front());
    return run->time;
  };
  return {model, simulate};
}

}  // namespace cortado::pipeline
