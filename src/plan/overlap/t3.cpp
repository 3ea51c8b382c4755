// T3: trackers count the stores of the GEMM and release DMA, memory adds up what arrives.
#include "plan/t3.hpp"

#include <fmt/format.h>

#include "plan/overlap/strategy.hpp"

namespace cortado::plan {
namespace {

Result<PlannedOverlap> planned(const T3Plan& plan, std::string_view name, std::optional<ArbitrationPolicy> arbitration,
                               const Machine& machine) {
  PlannedOverlap made;
  made.program = plan.program;
  made.name = name;
  made.how = fmt::format("{}, {} chunks of {} by {} pieces", plan.algorithm, plan.chunks,
                         plan.axis == T3Axis::rows ? "rows" : "columns", plan.pieces);
  made.gemm_cus = machine.compute_units;
  made.footprint = plan.footprint;
  made.arbitration = arbitration;
  return made;
}

/// Of the algorithms and axes that are left open and that the machine can do, what is predicted to be fastest; the
/// planner's own choice where nothing can be predicted.
Result<T3Plan> plan_fastest(const OverlapQuestion& question, std::optional<ArbitrationPolicy> arbitration) {
  T3Request asked;
  asked.gemm = question.problem.gemm();
  asked.collective = overlapping_part(question.problem).collective().collective;
  asked.ranks = question.problem.ranks;
  asked.pieces = question.knobs.pieces;
  asked.split_k = question.knobs.split_k;
  asked.algorithm = question.knobs.algorithm;
  CORTADO_ASSIGN_OR_RETURN(asked.axis, find_t3_axis(question.knobs.axis));
  const T3Axis given = asked.axis;
  CORTADO_ASSIGN_OR_RETURN(T3Plan chosen, plan_t3(asked, question.machine));
  if (!question.machine.timing) return chosen;
  std::optional<Nanoseconds> best;
  for (const T3Preset& preset : list_t3_presets()) {
    if (preset.collective != asked.collective) continue;
    if (question.knobs.algorithm != "auto" && preset.algorithm != question.knobs.algorithm) continue;
    asked.algorithm = preset.algorithm;
    for (const T3Axis axis : {T3Axis::rows, T3Axis::columns}) {
      if (given != T3Axis::automatic && axis != given) continue;
      asked.axis = axis;
      auto plan = plan_t3(asked, question.machine);
      if (!plan) continue;
      const auto time = question.costs.simulate(plan->program, arbitration);
      if (!time || (best && *time >= *best)) continue;
      best = *time;
      chosen = *std::move(plan);
    }
  }
  return chosen;
}

Strategy t3_strategy(const std::string& name, ArbitrationPolicy arbitration, Strategy texts) {
  texts.name = name;
  texts.family = "T3";
  texts.applies = [name](const OverlapProblem& problem, const Machine& machine) -> Status {
    CORTADO_RETURN_IF_ERROR(check_relation(problem, name, {Relation::collective_needs_gemm}));
    if (!problem.tokens.empty()) {
      return fail("t3.tokens", fmt::format("{} divides its rows evenly: its maps have chunks of one size", name),
                  "drop --tokens, or use tiles-a2a, waves or a FiCCO schedule");
    }
    if (!machine.features.tracker) {
      return fail("t3.feature", fmt::format("{} has no trackers", machine.name),
                  "use a machine with trackers, such as mi300x-8+t3");
    }
    if (name == "t3-mca" && (!machine.timing || !machine.timing->memory.arbitration)) {
      return fail("overlap.machine", fmt::format("{} has no memory_arbitration", machine.name),
                  "use a machine with [arbitration], or try it with --with mca");
    }
    return {};
  };
  texts.plan = [name, arbitration](const OverlapQuestion& question) -> Result<PlannedOverlap> {
    std::optional<ArbitrationPolicy> policy;
    if (question.machine.timing && question.machine.timing->memory.arbitration) policy = arbitration;
    CORTADO_ASSIGN_OR_RETURN(const T3Plan plan, plan_fastest(question, policy));
    return planned(plan, name, policy, question.machine);
  };
  return texts;
}

}  // namespace

std::vector<Strategy> t3_strategies() {
  return {
      t3_strategy("t3", ArbitrationPolicy::round_robin,
                  {.summary = "trackers count stores and release DMA, memory adds; GEMM and communication take turns",
                   .wins = "hardware that has them: the GEMM's stores are the collective's reads",
                   .loses = "machines without trackers and near-memory compute"}),
      t3_strategy("t3-mca", ArbitrationPolicy::mca,
                  {.summary = "like t3, but memory serves the GEMM first (arbitration)",
                   .wins = "GEMMs that the collective's memory traffic slows down in t3",
                   .loses = "same as t3"})};
}

}  // namespace cortado::plan
