// Ideals have no program: they are computed from what is known of the GEMM and the collective alone.
#include <fmt/format.h>

#include "plan/overlap/strategy.hpp"

namespace cortado::plan {
namespace {

Status reduces(const OverlapProblem& problem, const Machine& machine) {
  CORTADO_RETURN_IF_ERROR(check_relation(problem, "ideal-rs+nmc", {Relation::collective_needs_gemm}));
  const Collective collective = problem.collective().collective;
  if (collective != "reduce-scatter" && collective != "all-reduce") {
    return fail("overlap.collective", fmt::format("{} has no sum to compute in memory", collective),
                "it works for reduce-scatter and all-reduce");
  }
  if (!machine.features.near_memory_compute) {
    return fail("overlap.machine", machine.name + " has no near-memory compute", "try it with --with nmc");
  }
  return {};
}

}  // namespace

std::vector<Strategy> ideal_strategies() {
  return {{.name = "ideal",
           .family = "ideal",
           .summary = "bound: the longer of GEMM and collective, each alone and as fast as possible",
           .wins = "it has no program",
           .loses = "it has no program",
           .applies = [](const OverlapProblem&, const Machine&) -> Status { return {}; }},
          {.name = "ideal-rs+nmc",
           .family = "ideal",
           .summary = "bound: like ideal, with a reduce-scatter that is added up in memory",
           .wins = "it has no program",
           .loses = "it has no program",
           .applies = reduces}};
}

}  // namespace cortado::plan
