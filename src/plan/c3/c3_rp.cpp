// c3-rp, resource partition: k compute units are set aside for the collective, the product has the others, whoever is
// launched first. k is the power of two times one unit a die (8, 16, ..., 128 of 304 on MI300X) for which the longer of
// the two, each alone on its units, is shortest.
//
// Wins when the collective saturates its links with few units. Loses when the two differ much in length: the units of
// the one that is done stay idle. Published heuristic of ConCCL, which took the times from measured tables; 41 % of the
// ideal gain on average.
#include <fmt/format.h>

#include "cortado/plan/choose.hpp"

#include "plan/c3/policy.hpp"

namespace cortado::plan {
namespace {

Result<OverlapWay> decide_c3_rp(const Question& question) {
  CORTADO_ASSIGN_OR_RETURN(const Partition best, best_partition(question));
  return OverlapWay{.order = LaunchOrder::gemm_first,
                    .collective = best.collective.request,
                    .gemm_units = best.gemm_units,
                    .why = fmt::format("{} compute units for {}, {} for the product", best.collective_units,
                                       way_name(best.collective.request), best.gemm_units)};
}

}  // namespace

Policy c3_rp_policy() {
  return {.info = {.name = "c3-rp",
                   .summary = "compute units divided between the two",
                   .wins = "collectives that need few units and take about as long as the product",
                   .loses = "when one is much longer: the units of the other stay idle"},
          .decide = decide_c3_rp};
}

}  // namespace cortado::plan
