// C3 and ConCCL: a GEMM and an independent collective at once, on divided compute units or on DMA engines. C3 also does
// a collective that consumes the GEMM's output, in two halves: the collective of the first beside the GEMM of the
// second.
#include <algorithm>

#include <fmt/format.h>

#include "cortado/plan/choose.hpp"

#include "plan/collective/variant.hpp"
#include "plan/overlap/strategy.hpp"

namespace cortado::plan {
namespace {

/// What C3 needs is a collective that is independent of the GEMM beside it.
constexpr FiccoSchedule kHalves{.grain = Grain::chunks,
                                .shape = CommShape::rows_1d,
                                .uniform = true,
                                .fused = true,
                                .chunks = 2,
                                .means = CollectiveMeans::cores};

/// The collective on so many compute units, first in line; the others are for the GEMM where the name says so.
Result<OverlapWay> reserved_way(const Question& question, std::uint32_t cus, bool partitioned) {
  if (cus >= question.units()) {
    return fail("c3.compute_units",
                fmt::format("{} of {} compute units leave none for the GEMM", cus, question.units()),
                fmt::format("give fewer than {}", question.units()));
  }
  CORTADO_ASSIGN_OR_RETURN(const TimedCollective collective, fastest_on_cores(question, cus));
  return OverlapWay{.order = LaunchOrder::collective_first,
                    .collective = collective.request,
                    .gemm_units = partitioned ? question.units() - cus : 0,
                    .tuned = true,
                    .priority = 1,
                    .why = fmt::format("{} first, on {} CUs", way_name(collective.request), cus)};
}

Result<OverlapWay> with_variant(OverlapWay way, const StrategyKnobs& knobs, std::string_view family) {
  CollectiveRequest collective = way.collective;
  collective.variant = knobs.variant;
  collective.prelaunch = knobs.prelaunch;
  CORTADO_ASSIGN_OR_RETURN(const Variant* variant, find_variant(collective));
  const bool on_cores = variant->info.on_cores;
  if (on_cores != (family == "C3")) {
    return fail("overlap.strategy",
                fmt::format("{} runs on {}, {} moves data with {}", knobs.variant, on_cores ? "CUs" : "DMA engines",
                            family, on_cores ? "DMA engines" : "CUs"),
                fmt::format("cortado list variants has those of {}", collective.collective));
  }
  if (on_cores) {
    way.collective = std::move(collective);
    return way;
  }
  collective.compute_units = 0;
  std::string why = fmt::format("{} on DMA engines, {} for the GEMM", way_name(collective),
                                way.gemm_units == 0 ? "all CUs" : fmt::format("{} CUs", way.gemm_units));
  return beside_engines(std::move(collective), way.gemm_units, std::move(why));
}

Result<OverlapWay> decide(const Policy& policy, const OverlapQuestion& asked, std::string_view family) {
  const OverlapRequest request = asked.independent();
  const Question question{request, asked.machine, asked.costs.model};
  const StrategyKnobs& knobs = asked.knobs;
  if (knobs.reserved) return reserved_way(question, *knobs.comm_cus, policy.info.name == "c3-sp-rp");
  CORTADO_ASSIGN_OR_RETURN(OverlapWay way, policy.decide(question));
  if (!knobs.variant.empty()) {
    CORTADO_ASSIGN_OR_RETURN(way, with_variant(std::move(way), knobs, family));
  }
  if (knobs.gemm_cus) way.gemm_units = *knobs.gemm_cus;
  if (knobs.comm_cus && way.on_cores()) way.collective.compute_units = *knobs.comm_cus;
  return way;
}

Result<PlannedOverlap> plan_policy(const Policy& policy, const OverlapQuestion& asked, std::string_view family) {
  if (asked.problem.relation != Relation::independent) {
    CORTADO_ASSIGN_OR_RETURN(PlannedOverlap halves, plan_schedule(kHalves, asked));
    halves.name = policy.info.name;
    return halves;
  }
  CORTADO_ASSIGN_OR_RETURN(const OverlapWay way, decide(policy, asked, family));
  CORTADO_ASSIGN_OR_RETURN(PlannedOverlap planned, plan_way(way, asked));
  planned.name =
      asked.knobs.reserved || !asked.knobs.variant.empty() ? name_of_way(way, asked.machine) : policy.info.name;
  if (!asked.knobs.variant.empty()) {
    planned.name =
        fmt::format("{}/{}{}", policy.info.name, asked.knobs.variant, asked.knobs.prelaunch ? "-prelaunch" : "");
  }
  return planned;
}

}  // namespace

std::string name_of_way(const OverlapWay& way, const Machine& machine) {
  if (way.order == LaunchOrder::serial) return "serial";
  if (way.on_cores()) {
    const std::uint32_t cus = way.collective.compute_units == 0 ? machine.compute_units : way.collective.compute_units;
    return fmt::format("{}/{}", way.gemm_units == 0 ? "c3-sp" : "c3-sp-rp", cus);
  }
  if (way.collective.variant == "pcpy" && !way.collective.prelaunch) return "conccl";
  return fmt::format("conccl/{}{}", way.collective.variant, way.collective.prelaunch ? "-prelaunch" : "");
}

Result<PlannedOverlap> plan_way(const OverlapWay& way, const OverlapQuestion& question) {
  PlannedOverlap planned;
  CORTADO_ASSIGN_OR_RETURN(planned.program, plan_overlap(question.independent(), way, question.machine));
  const auto units = [&](std::uint32_t given) { return given == 0 ? question.machine.compute_units : given; };
  planned.name = name_of_way(way, question.machine);
  planned.how = way.why;
  planned.gemm_cus = units(way.gemm_units);
  if (way.on_cores()) {
    planned.comm_cus = units(way.collective.compute_units);
    return planned;
  }
  for (const Queue& queue : planned.program.queues) {  // kernels that add up what DMA engines brought
    if (queue.kind != QueueKind::compute || queue.name.starts_with("gemm")) continue;
    planned.comm_cus = std::max(planned.comm_cus, units(queue.compute_units.value_or(0)));
  }
  return planned;
}

std::vector<Strategy> c3_strategies() {
  std::vector<Strategy> all;
  for (const Policy& policy : fixed_policies()) {
    if (policy.info.name == "serial") continue;
    const std::string family = policy.info.name.starts_with("conccl") ? "ConCCL" : "C3";
    const bool halves = policy.info.name == "c3";
    all.push_back(
        {.name = policy.info.name,
         .family = family,
         .summary = policy.info.summary,
         .wins = policy.info.wins,
         .loses = policy.info.loses,
         .applies =
             [name = policy.info.name, halves](const OverlapProblem& problem, const Machine&) {
               if (halves && problem.relation == Relation::collective_needs_gemm &&
                   problem.collective().collective != "all-gather") {
                 return Status{};
               }
               return check_relation(problem, name, {Relation::independent});
             },
         .plan = [policy, family](const OverlapQuestion& asked) { return plan_policy(policy, asked, family); }});
  }
  return all;
}

}  // namespace cortado::plan
