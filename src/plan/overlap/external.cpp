// A strategy that an executable outside of Cortado plans.
#include "plan/external.hpp"

#include <fmt/format.h>

#include "cortado/program.hpp"

#include "plan/collective/external.hpp"
#include "plan/overlap/strategy.hpp"

namespace cortado::plan {
namespace {

Json describe_problem(const OverlapProblem& problem) {
  Json gemms = Json::array();
  for (const GemmShape& gemm : problem.gemms) {
    gemms.push_back({{"m", gemm.m}, {"n", gemm.n}, {"k", gemm.k}, {"dtype", to_string(gemm.dtype)}});
  }
  Json collectives = Json::array();
  for (const CollectiveRequest& collective : problem.collectives) collectives.push_back(describe_request(collective));
  Json asked{{"relation", name_of(problem.relation)}, {"gemms", gemms}, {"collectives", collectives}};
  if (!problem.tokens.empty()) asked["tokens"] = problem.tokens;
  return asked;
}

/// A program of the problem: it says which buffers the caller has and what is promised.
Result<Program> reference(const OverlapProblem& problem, const Machine& machine) {
  if (problem.relation == Relation::independent) {
    std::vector<CollectiveRequest> copies = problem.collectives;
    for (CollectiveRequest& collective : copies) collective.variant = "pcpy";
    return plan_overlap(problem, way_at_once(std::move(copies)), machine);
  }
  const FiccoSchedule whole{.grain = Grain::whole, .exchange = ExchangeVariant::pcpy};
  CORTADO_ASSIGN_OR_RETURN(FiccoPlan planned, plan_ficco(dependent_request(problem), whole, machine));
  return std::move(planned.program);
}

Result<PlannedOverlap> plan_external(const std::string& planner, const OverlapQuestion& question) {
  CORTADO_ASSIGN_OR_RETURN(const Program whole, reference(question.problem, question.machine));
  PlannedOverlap planned;
  CORTADO_ASSIGN_OR_RETURN(planned.program, complete_program(planner, {{"request", describe_problem(question.problem)}},
                                                             specification(whole), question.machine));
  planned.name = external_name(planner);
  planned.how = planned.program.name;
  planned.gemm_cus = question.machine.compute_units;
  for (const Queue& queue : planned.program.queues) {
    if (queue.kind != QueueKind::compute || queue.role == QueueRole::gemm) continue;
    planned.comm_cus = std::max(planned.comm_cus, queue.compute_units.value_or(question.machine.compute_units));
  }
  return planned;
}

}  // namespace

Strategy external_strategy(std::string_view name) {
  const std::string planner(name.substr(kPlannerPrefix.size()));
  return {.name = std::string(name),
          .family = "planner",
          .summary = fmt::format("planned by {}", planner),
          .applies = [](const OverlapProblem&, const Machine&) { return Status{}; },
          .plan = [planner](const OverlapQuestion& question) { return plan_external(planner, question); }};
}

}  // namespace cortado::plan
