// reduce-scatter pcpy: engines move every block to scratch memory of its owner, a kernel of the owner adds them.
#include "plan/collective/reduction.hpp"

namespace cortado::plan {
namespace {

Result<Program> plan_reduce_scatter(Schedule& schedule) {
  ReduceScatter scatter(schedule);
  LaneGrid lanes(schedule);
  reduce_by_kernel(schedule, lanes, scatter.reduction());
  return scatter.finish();
}

}  // namespace

Variant reduce_scatter_pcpy() {
  return {.info = {.collective = "reduce-scatter",
                   .variant = "pcpy",
                   .summary = "copies into scratch memory of the owners, added there by a kernel",
                   .in_place = true,
                   .out_of_place = true},
          .plan = plan_reduce_scatter,
          .reduces = true};
}

}  // namespace cortado::plan
