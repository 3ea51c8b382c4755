// The program of one strategy.
#include <limits>

#include <fmt/format.h>

#include "cortado/study.hpp"

#include "pipeline/choose.hpp"
#include "plan/overlap.hpp"

namespace cortado::pipeline {
namespace {

Outcome<PlannedOverlap> plan_best(const OverlapProblem& problem, const Machine& machine, const StrategyKnobs& knobs,
                                  std::uint32_t threads) {
  auto report = study_overlap(
      problem, machine,
      {.strategies = {std::string(kAutoStrategy)}, .knobs = knobs, .one_program = true, .threads = threads});
  if (!report) return fail(report.error());
  if (!report->chosen) {
    return fail_at(
        Stage::plan,
        {"overlap.program",
         fmt::format("only {} can be planned here, which is two programs: the GEMM and the library's collective",
                     report->choice),
         "cortado overlap with the same arguments says why the other strategies are left out"});
  }
  return *report->chosen;
}

Result<PlannedOverlap> plan_named(const OverlapProblem& asked, const Machine& machine, const std::string& strategy,
                                  const StrategyKnobs& knobs) {
  CORTADO_ASSIGN_OR_RETURN(const NamedStrategy named, find_strategy(strategy, knobs));
  if (!named.strategy->plan) {
    return fail("overlap.program", fmt::format("{} is a bound, not a program", strategy),
                "see cortado list strategies");
  }
  // Whether it fits into memory depends on the strategy; its planner refuses what does not.
  Machine roomy = machine;
  if (asked.relation != Relation::independent) {
    roomy.memory_bytes = Bytes{std::numeric_limits<std::int64_t>::max()};
  }
  CORTADO_ASSIGN_OR_RETURN(const OverlapProblem problem, check_problem(asked, roomy));
  CORTADO_RETURN_IF_ERROR(named.strategy->applies(problem, machine));
  const auto model = simulated_cost(machine);
  const StrategyCosts costs = strategy_costs(*model, machine);
  return named.strategy->plan({problem, machine, costs, named.knobs});
}

}  // namespace

Status check_one_program(const OverlapProblem& problem) {
  if (problem.relation == Relation::independent || problem.collective().collective != "all-reduce") return {};
  return fail("overlap.program", "an all-reduce is an overlapped program followed by an all-gather",
              "use reduce-scatter");
}

Outcome<PlannedOverlap> plan_strategy(const OverlapProblem& problem, const Machine& machine,
                                      const std::string& strategy, const StrategyKnobs& knobs, std::uint32_t threads) {
  if (const Status one = check_one_program(problem); !one) return fail_at(Stage::plan, one.error());
  if (strategy == kAutoStrategy) return plan_best(problem, machine, knobs, threads);
  auto planned = plan_named(problem, machine, strategy, knobs);
  if (!planned) return fail_at(Stage::plan, planned.error());
  return *std::move(planned);
}

}  // namespace cortado::pipeline
