// One after the other: what all strategies are compared with, and the same with the collective on DMA engines.
#include <algorithm>

#include <fmt/format.h>

#include "plan/overlap/strategy.hpp"

namespace cortado::plan {
namespace {

Result<PlannedOverlap> plan_serial(const OverlapQuestion& question) {
  if (question.problem.relation != Relation::independent) {
    return fail("overlap.program", "serial is two programs here, the GEMM and the library's collective",
                "serial-dma is one program; cortado plan plans the collective alone");
  }
  auto way = choose_way("serial", question.problem, question.machine, question.costs.model);
  if (!way && way.error().code == "c3.variant") {  // no library does it on compute units
    CORTADO_ASSIGN_OR_RETURN(const NamedStrategy dma, find_strategy("serial-dma"));
    return dma.strategy->plan(question);
  }
  CORTADO_ASSIGN_OR_RETURN(const OverlapWay found, std::move(way));
  return plan_way(found, question);
}

Result<PlannedOverlap> plan_serial_dma(const OverlapQuestion& question) {
  if (question.problem.relation != Relation::independent) {
    FiccoSchedule whole{.grain = Grain::whole, .exchange = question.knobs.exchange};
    if (whole.exchange == ExchangeVariant::automatic) whole.exchange = ExchangeVariant::pcpy;
    whole.means = question.knobs.means;
    return plan_schedule(whole, question);
  }
  CORTADO_ASSIGN_OR_RETURN(const OverlapProblem checked, check_overlap(question.problem, question.machine));
  const std::string variant = question.knobs.variant.empty() ? "pcpy" : question.knobs.variant;
  OverlapWay copies{.order = LaunchOrder::serial, .why = "the GEMM, then plain copies on DMA engines"};
  CORTADO_ASSIGN_OR_RETURN(copies.collectives, on_engines({checked, question.machine, question.costs.model}, variant,
                                                          question.knobs.prelaunch));
  CORTADO_ASSIGN_OR_RETURN(PlannedOverlap planned, plan_way(copies, question));
  planned.name = "serial-dma";
  return planned;
}

Result<PlannedOverlap> plan_serial_direct(const OverlapQuestion&) {
  return fail("overlap.program", "serial-direct is two programs, the GEMM and direct kernels of the collective",
              "serial-dma/cores is one program; cortado plan plans the collective alone");
}

Status has_direct_kernels(const OverlapProblem& problem, const Machine&) {
  CORTADO_RETURN_IF_ERROR(
      check_relation(problem, "serial-direct", {Relation::gemm_needs_collective, Relation::collective_needs_gemm}));
  const Collective collective = problem.collective().collective;
  const auto direct = [](const VariantInfo& info) { return info.on_cores && !info.of_library; };
  if (std::ranges::any_of(list_variants(collective), direct)) return {};
  return fail("overlap.collective", fmt::format("{} has no direct kernels", collective), "use serial");
}

Status always(const OverlapProblem&, const Machine&) {
  return {};
}

Status can_be_one_program(const OverlapProblem& problem, const Machine&) {
  if (problem.relation != Relation::collective_needs_gemm || problem.collective().collective != "all-gather") return {};
  return fail("overlap.collective", "serial-dma cannot gather the results of GEMMs",
              "it works for reduce-scatter, all-reduce and all-to-all after a GEMM");
}

}  // namespace

std::vector<Strategy> serial_strategies() {
  return {{.name = "serial",
           .family = "serial",
           .summary = "GEMM and library collective on compute units, one after the other",
           .wins = "one of the two is too short to be worth sharing the GPU",
           .loses = "nearly always: nothing overlaps",
           .applies = always,
           .plan = plan_serial},
          {.name = "serial-direct",
           .family = "serial",
           .summary = "like serial, with the fastest direct kernels (cores-*), as serving engines have them",
           .wins = "small collectives, whose rings take many steps",
           .loses = "large ones, and wherever anything can overlap",
           .applies = has_direct_kernels,
           .plan = plan_serial_direct},
          {.name = "serial-dma",
           .family = "serial",
           .summary = "like serial, with the collective as plain copies on DMA engines",
           .wins = "large collectives that DMA engines do faster than a library",
           .loses = "small collectives, and wherever anything can overlap",
           .applies = can_be_one_program,
           .plan = plan_serial_dma}};
}

}  // namespace cortado::plan
