// c3-sp-rp: compute units divided as in c3-rp, and launched in the order of c3-sp.
//
// Wins where the collective must also start early: small ones, whose time a late launch would double. Hardly ever
// differs from c3-rp otherwise, since each has its own units: no extra gain in the published measurements (42 % of the
// ideal gain on average), and it loses where c3-rp loses.
#include <fmt/format.h>

#include "plan/c3/way.hpp"

namespace cortado::plan {
namespace {

Result<OverlapWay> decide_c3_sp_rp(const Question& question) {
  CORTADO_ASSIGN_OR_RETURN(const Partition best, best_partition(question));
  const bool first = goes_first(question, best.collective_units);
  return OverlapWay{
      .order = first ? LaunchOrder::collective_first : LaunchOrder::gemm_first,
      .collectives = best.collectives.requests,
      .gemm_units = best.gemm_units,
      .priority = first ? 1 : 0,
      .why = fmt::format("{} CUs for {}, {} for the GEMM, {} first", best.collective_units,
                         way_names(best.collectives.requests), best.gemm_units, first ? "the collective" : "the GEMM")};
}

}  // namespace

WayStrategy c3_sp_rp_strategy() {
  return {.name = "c3-sp-rp",
          .family = "C3",
          .summary = "CUs split, and the kernel with fewer workgroups first",
          .wins = "small collectives next to GEMMs that can spare the CUs",
          .loses = "same as c3-rp",
          .decide = decide_c3_sp_rp};
}

}  // namespace cortado::plan
