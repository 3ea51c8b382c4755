// c3: both launched as independent streams, the GEMM first, as frameworks do that know nothing of either.
//
// The workgroups of the GEMM fill all compute units before the collective gets any, and each unit that becomes free
// is asked for by the GEMM again: the collective starts late, when the last wave of the GEMM thins out.
// Wins when the GEMM has fewer workgroups than the GPU has units, so that both fit from the start. Loses with large
// GEMMs: 21 % of the ideal gain on average in the published measurements (ConCCL, section "results by strategy").
#include <fmt/format.h>

#include "plan/c3/way.hpp"

namespace cortado::plan {
namespace {

Result<OverlapWay> decide_c3(const Question& question) {
  CORTADO_ASSIGN_OR_RETURN(const std::vector<CollectiveRequest> library, library_collectives(question));
  return OverlapWay{.order = LaunchOrder::gemm_first,
                    .collectives = library,
                    .why = fmt::format("GEMM first, {} on the CUs it leaves free", way_names(library))};
}

}  // namespace

WayStrategy c3_strategy() {
  return {.name = "c3",
          .family = "C3",
          .summary = "two streams, the GEMM launched first",
          .wins = "GEMMs with fewer workgroups than the GPU has CUs",
          .loses = "large GEMMs: the collective starves until their last wave",
          .decide = decide_c3};
}

}  // namespace cortado::plan
