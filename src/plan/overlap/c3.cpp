// C3 and ConCCL: a GEMM and an independent collective at once, on divided compute units or on DMA engines. C3 also does
// a collective that consumes the GEMM's output, in two halves: the collective of the first beside the GEMM of the
// second.
#include <algorithm>

#include <fmt/format.h>

#include "plan/collective/variant.hpp"
#include "plan/overlap/strategy.hpp"

namespace cortado::plan {
namespace {

/// The collective on so many compute units, first in line; the others are for the GEMM where the name says so.
Result<OverlapWay> reserved_way(const Question& question, std::uint32_t cus, bool partitioned) {
  if (cus >= question.units()) {
    return fail("c3.compute_units",
                fmt::format("{} of {} compute units leave none for the GEMM", cus, question.units()),
                fmt::format("use fewer than {}", question.units()));
  }
  CORTADO_ASSIGN_OR_RETURN(const TimedCollectives collectives, fastest_on_cores(question, cus));
  return OverlapWay{.order = LaunchOrder::collective_first,
                    .collectives = collectives.requests,
                    .gemm_units = partitioned ? question.units() - cus : 0,
                    .tuned = true,
                    .priority = 1,
                    .why = fmt::format("{} first, on {} CUs", way_names(collectives.requests), cus)};
}

Result<OverlapWay> with_variant(OverlapWay way, const Question& question, const StrategyKnobs& knobs,
                                std::string_view family) {
  CollectiveRequest first = way.collective();
  first.variant = knobs.variant;
  CORTADO_ASSIGN_OR_RETURN(const Variant* variant, find_variant(first));
  const bool on_cores = variant->info.on_cores;
  if (on_cores != (family == "C3")) {
    return fail("overlap.strategy",
                fmt::format("{} runs on {}, {} moves data with {}", knobs.variant, on_cores ? "CUs" : "DMA engines",
                            family, on_cores ? "DMA engines" : "CUs"),
                fmt::format("see cortado list variants for those of {}", first.collective));
  }
  if (on_cores) {
    for (CollectiveRequest& collective : way.collectives) collective.variant = knobs.variant;
    return way;
  }
  CORTADO_ASSIGN_OR_RETURN(std::vector<CollectiveRequest> collectives,
                           cortado::plan::on_engines(question, knobs.variant, knobs.prelaunch));
  std::string why = fmt::format("{} on DMA engines, {} for the GEMM", way_names(collectives),
                                way.gemm_units == 0 ? "all CUs" : fmt::format("{} CUs", way.gemm_units));
  return beside_engines(std::move(collectives), way.gemm_units, std::move(why));
}

Result<OverlapWay> decide(const WayStrategy& strategy, const OverlapQuestion& asked) {
  CORTADO_ASSIGN_OR_RETURN(const OverlapProblem checked, check_overlap(asked.problem, asked.machine));
  const Question question{checked, asked.machine, asked.costs.model};
  const StrategyKnobs& knobs = asked.knobs;
  if (knobs.reserved) return reserved_way(question, *knobs.comm_cus, strategy.name == "c3-sp-rp");
  CORTADO_ASSIGN_OR_RETURN(OverlapWay way, strategy.decide(question));
  if (!knobs.variant.empty()) {
    CORTADO_ASSIGN_OR_RETURN(way, with_variant(std::move(way), question, knobs, strategy.family));
  }
  if (knobs.gemm_cus) way.gemm_units = *knobs.gemm_cus;
  if (knobs.comm_cus && way.on_cores()) {
    for (CollectiveRequest& collective : way.collectives) collective.compute_units = *knobs.comm_cus;
  }
  const std::uint32_t of_collective = way.on_cores() ? way.collective().compute_units : 0;
  if (strategy.name.ends_with("-rp") && way.gemm_units + of_collective > question.units()) {
    return fail("c3.compute_units",
                fmt::format("{} splits {} compute units, but {} + {} are requested", strategy.name, question.units(),
                            way.gemm_units, of_collective),
                "use --cus-gemm and --cus-comm that add up to no more, or only one of them");
  }
  return way;
}

Result<PlannedOverlap> plan_strategy(const WayStrategy& strategy, const OverlapQuestion& asked) {
  if (asked.problem.relation != Relation::independent) {
    CORTADO_ASSIGN_OR_RETURN(PlannedOverlap halves, plan_schedule(kHalvesOfC3, asked));
    halves.name = strategy.name;
    return halves;
  }
  CORTADO_ASSIGN_OR_RETURN(const OverlapWay way, decide(strategy, asked));
  CORTADO_ASSIGN_OR_RETURN(PlannedOverlap planned, plan_way(way, asked));
  if (!asked.knobs.variant.empty()) {
    planned.name =
        fmt::format("{}/{}{}", strategy.name, asked.knobs.variant, asked.knobs.prelaunch ? "-prelaunch" : "");
  } else if (!asked.knobs.reserved) {
    planned.name = strategy.name;
  }
  return planned;
}

}  // namespace

std::string name_of_way(const OverlapWay& way, const Machine& machine) {
  if (!way.strategy.empty()) return way.strategy;
  if (way.order == LaunchOrder::serial) return "serial";
  if (way.on_cores()) {
    const std::uint32_t given = way.collective().compute_units;
    return fmt::format("{}/{}", way.gemm_units == 0 ? "c3-sp" : "c3-sp-rp", given == 0 ? machine.compute_units : given);
  }
  return fmt::format("{}/{}{}", way.gemm_units == 0 ? "conccl" : "conccl-rp", way.collective().variant,
                     way.collective().prelaunch ? "-prelaunch" : "");
}

Result<PlannedOverlap> plan_way(const OverlapWay& way, const OverlapQuestion& question) {
  PlannedOverlap planned;
  CORTADO_ASSIGN_OR_RETURN(planned.program, plan_overlap(question.problem, way, question.machine));
  const auto units = [&](std::uint32_t given) { return given == 0 ? question.machine.compute_units : given; };
  planned.name = name_of_way(way, question.machine);
  planned.how = way.why;
  planned.gemm_cus = units(way.gemm_units);
  if (way.on_cores()) {
    planned.comm_cus = units(way.collective().compute_units);
    return planned;
  }
  for (const Queue& queue : planned.program.queues) {  // kernels that add up what DMA engines brought
    if (queue.kind != QueueKind::compute || queue.role == QueueRole::gemm) continue;
    planned.comm_cus = std::max(planned.comm_cus, units(queue.compute_units.value_or(0)));
  }
  return planned;
}

std::vector<Strategy> c3_strategies() {
  std::vector<Strategy> all;
  for (const WayStrategy& strategy : way_strategies()) {
    const bool halves = strategy.name == "c3";
    all.push_back(
        {.name = std::string(strategy.name),
         .family = std::string(strategy.family),
         .summary = std::string(strategy.summary),
         .wins = std::string(strategy.wins),
         .loses = std::string(strategy.loses),
         .applies =
             [name = strategy.name, halves](const OverlapProblem& problem, const Machine&) {
               if (halves && problem.relation == Relation::collective_needs_gemm &&
                   problem.collective().collective != "all-gather") {
                 return Status{};
               }
               if (halves && problem.relation == Relation::gemm_needs_collective) {
                 return check_relation(problem, name, {Relation::independent, Relation::collective_needs_gemm});
               }
               return check_relation(problem, name, {Relation::independent});
             },
         .plan = [&strategy](const OverlapQuestion& asked) { return plan_strategy(strategy, asked); }});
  }
  return all;
}

}  // namespace cortado::plan
