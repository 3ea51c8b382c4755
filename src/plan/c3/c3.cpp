// c3: both launched as independent streams, the product first, as frameworks do that know nothing of either.
//
// The workgroups of the product fill all compute units before the collective gets any, and each unit that becomes free
// is asked for by the product again: the collective starts late, when the last wave of the product thins out.
// Wins when the product has fewer workgroups than the GPU has units, so that both fit from the start. Loses with large
// products: 21 % of the ideal gain on average in the published measurements (ConCCL, section "results by strategy").
#include <fmt/format.h>

#include "cortado/plan/choose.hpp"

#include "plan/c3/policy.hpp"

namespace cortado::plan {
namespace {

Result<OverlapWay> decide_c3(const Question& question) {
  CORTADO_ASSIGN_OR_RETURN(const TimedCollective library, library_collective(question));
  return OverlapWay{.order = LaunchOrder::gemm_first,
                    .collective = library.request,
                    .why = fmt::format("product first, {} beside it where units are free", way_name(library.request))};
}

}  // namespace

Policy c3_policy() {
  return {.info = {.name = "c3",
                   .summary = "two streams, the product launched first",
                   .wins = "products with fewer workgroups than the GPU has compute units",
                   .loses = "large products: the collective starves until their last wave"},
          .decide = decide_c3};
}

}  // namespace cortado::plan
