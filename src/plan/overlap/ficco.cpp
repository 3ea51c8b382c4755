// FiCCO: GEMM and collective cut into steps; while one is multiplied, the next travels.
#include <algorithm>

#include <fmt/format.h>

#include "plan/ficco/carrier.hpp"
#include "plan/overlap/strategy.hpp"

namespace cortado::plan {
namespace {

/// When schedules win and lose, by docs/ficco.md.
struct Texts {
  std::string_view name, wins, loses;
};

constexpr Texts kTexts[] = {
    {"shard-p2p", "never on a mesh; on rings and switches, where all peers share one link",
     "meshes: only one of many links is busy"},
    {"uniform-fused-1d", "middle sizes: one GEMM per step, all links busy", "few rows: its pieces leave CUs idle"},
    {"hetero-fused-1d", "many rows and a deep k: own rows hide the first step", "small GEMMs: one more kernel"},
    {"hetero-unfused-1d", "very many rows: nothing is gathered or scattered", "otherwise: its pieces are small"},
    {"uniform-fused-2d", "few rows and a deep k: pieces keep all rows", "a shallow k: every step reads C again"},
    {"uniform-unfused-1d", "rarely: pieces land in place", "its pieces are small"},
    {"uniform-unfused-2d", "rarely", "its pieces are small and read C again"},
    {"hetero-fused-2d", "many rows, unless k is very deep: own rows hide the first panel",
     "own rows and panels are two kernels that read C again"},
    {"hetero-unfused-2d", "rarely", "its pieces are small and read C again"},
};

}  // namespace

Status can_exchange_pieces(const OverlapProblem& problem, const Machine& machine, std::string_view name) {
  CORTADO_RETURN_IF_ERROR(
      check_relation(problem, name, {Relation::gemm_needs_collective, Relation::collective_needs_gemm}));
  const Collective collective = problem.collective().collective;
  if (problem.relation == Relation::collective_needs_gemm && collective == "all-gather") {
    return fail("overlap.collective", fmt::format("{} cannot gather the results of GEMMs", name),
                "it works for reduce-scatter, all-reduce and all-to-all after a GEMM");
  }
  const std::uint32_t ranks = problem.ranks == 0 ? machine.gpus : std::min(problem.ranks, machine.gpus);
  for (std::uint32_t from = 0; from < ranks; ++from) {
    for (std::uint32_t to = 0; to < ranks; ++to) {
      if (from == to || machine.linked[from][to]) continue;
      return fail("plan.link", fmt::format("GPUs {} and {} of {} are not linked", from, to, machine.name),
                  "pieces are exchanged between all ranks at once, so all of them must be linked");
    }
  }
  return {};
}

namespace {

Strategy schedule_strategy(const FiccoScheduleInfo& info) {
  Strategy made{.name = info.name, .family = "FiCCO", .summary = info.summary};
  for (const Texts& texts : kTexts) {
    if (texts.name != info.name) continue;
    made.wins = texts.wins;
    made.loses = texts.loses;
  }
  made.by_default = info.published || info.schedule.grain == Grain::shards;
  made.applies = [name = info.name](const OverlapProblem& problem, const Machine& machine) {
    return can_exchange_pieces(problem, machine, name);
  };
  made.plan = [info](const OverlapQuestion& question) {
    FiccoSchedule schedule = info.schedule;
    schedule.chunks = schedule.grain == Grain::chunks ? question.knobs.chunks : 0;
    schedule.means = question.knobs.means;
    schedule.exchange = question.knobs.exchange;
    return plan_schedule(schedule, question);
  };
  return made;
}

Result<PlannedOverlap> plan_by_search(const OverlapQuestion& question) {
  CORTADO_ASSIGN_OR_RETURN(const ScheduleChoice choice,
                           auto_schedule(dependent_request(question.problem), question.machine, question.costs.model,
                                         ScheduleFamily::ficco));
  CORTADO_ASSIGN_OR_RETURN(PlannedOverlap planned, plan_schedule(choice.schedule, question));
  planned.how += choice.by == ChosenBy::search ? "; found by search" : "; by the heuristic";
  return planned;
}

}  // namespace

Result<PlannedOverlap> plan_schedule(const FiccoSchedule& schedule, const OverlapQuestion& question) {
  CORTADO_ASSIGN_OR_RETURN(FiccoPlan plan, plan_ficco(dependent_request(question.problem), schedule, question.machine));
  const bool on_cores = schedule.means == CollectiveMeans::cores;
  PlannedOverlap planned;
  planned.program = std::move(plan.program);
  FiccoSchedule named = schedule;
  if (schedule.grain == Grain::waves) {
    named.chunks = std::min(schedule.chunks, waves_of(planned.program, question.machine));
  }
  named.chunks = schedule.grain == Grain::chunks ? plan.steps : named.chunks;
  planned.name = has_tiles(schedule.grain) ? name_of_tiles(named, question.problem) : full_name(named);
  const char* const moves = on_cores                                    ? "CUs move the bytes"
                            : schedule.means == CollectiveMeans::stores ? "the GEMM stores to peers"
                                                                        : "DMA engines move the bytes";
  const std::string_view steps = has_tiles(schedule.grain) ? "group" : "step";
  planned.how = fmt::format("{} {}{}, {}", plan.steps, steps, plan.steps == 1 ? "" : "s", moves);
  planned.gemm_cus = question.machine.compute_units;
  if (on_cores && question.machine.timing) {
    planned.comm_cus = carrier_units(schedule, question.machine);
  }
  planned.steps = plan.steps;
  planned.footprint = plan.footprint;
  planned.staging = plan.staging;
  return planned;
}

std::vector<Strategy> ficco_strategies() {
  std::vector<Strategy> all{
      {.name = "ficco",
       .family = "FiCCO",
       .summary = "the FiCCO schedule and number of chunks that a search predicts to be fastest",
       .wins = "large GEMMs that depend on large collectives",
       .loses = "small ones: the pieces of a GEMM are less efficient than the whole",
       .applies = [](const OverlapProblem& problem,
                     const Machine& machine) { return can_exchange_pieces(problem, machine, "ficco"); },
       .plan = plan_by_search}};
  for (const FiccoScheduleInfo& info : list_schedules()) {
    if (info.schedule.grain != Grain::whole) all.push_back(schedule_strategy(info));
  }
  return all;
}

}  // namespace cortado::plan
