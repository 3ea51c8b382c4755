// c3-sp-rp: compute units divided as in c3-rp, and launched in the order of c3-sp.
//
// Wins where the collective must also start early: small ones, whose time a late launch would double. Hardly ever
// differs from c3-rp otherwise, since each has its own units: no extra gain in the published measurements (42 % of the
// ideal gain on average), and it loses where c3-rp loses.
#include <fmt/format.h>

#include "cortado/plan/choose.hpp"

#include "plan/c3/policy.hpp"

namespace cortado::plan {
namespace {

Result<OverlapWay> decide_c3_sp_rp(const Question& question) {
  CORTADO_ASSIGN_OR_RETURN(const Partition best, best_partition(question));
  const bool first = goes_first(question, best.collective_units);
  return OverlapWay{
      .order = first ? LaunchOrder::collective_first : LaunchOrder::gemm_first,
      .collective = best.collective.request,
      .gemm_units = best.gemm_units,
      .priority = first ? 1 : 0,
      .why = fmt::format("{} compute units for {}, {} for the product, {} first", best.collective_units,
                         way_name(best.collective.request), best.gemm_units, first ? "the collective" : "the product")};
}

}  // namespace

Policy c3_sp_rp_policy() {
  return {.info = {.name = "c3-sp-rp",
                   .summary = "compute units divided, the kernel with fewer workgroups first",
                   .wins = "small collectives beside products that can spare the units",
                   .loses = "as c3-rp"},
          .decide = decide_c3_sp_rp};
}

}  // namespace cortado::plan
