// c3-rp, resource partition: k compute units are set aside for the collective, the GEMM has the others, whoever is
// launched first. k is the power of two times one unit a die (8, 16, ..., 128 of 304 on MI300X) for which the longer of
// the two, each alone on its units, is shortest.
//
// Wins when the collective saturates its links with few units. Loses when the two differ much in length: the units of
// the one that is done stay idle. Published heuristic of ConCCL, which took the times from measured tables; 41 % of the
// ideal gain on average.
#include <fmt/format.h>

#include "plan/c3/way.hpp"

namespace cortado::plan {
namespace {

Result<OverlapWay> decide_c3_rp(const Question& question) {
  CORTADO_ASSIGN_OR_RETURN(const Partition best, best_partition(question));
  return OverlapWay{.order = LaunchOrder::gemm_first,
                    .collectives = best.collectives.requests,
                    .gemm_units = best.gemm_units,
                    .why = fmt::format("{} CUs for {}, {} for the GEMM", best.collective_units,
                                       way_names(best.collectives.requests), best.gemm_units)};
}

}  // namespace

WayStrategy c3_rp_strategy() {
  return {.name = "c3-rp",
          .family = "C3",
          .summary = "CUs split between GEMM and collective",
          .wins = "collectives that need few CUs and take about as long as the GEMM",
          .loses = "if one takes much longer: the CUs of the other sit idle",
          .decide = decide_c3_rp};
}

}  // namespace cortado::plan
