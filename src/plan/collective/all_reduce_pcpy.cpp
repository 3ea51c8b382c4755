// all-reduce pcpy: a reduce-scatter (copies into scratch memory, a kernel) and an all-gather of the sums in one
// program; an owner starts to push its sum as soon as its own kernel is done.
#include "plan/collective/reduction.hpp"

namespace cortado::plan {
namespace {

Result<Program> plan_all_reduce(Schedule& schedule) {
  AllReduce reduce(schedule);
  LaneGrid lanes(schedule);
  return reduce.finish(lanes, reduce_by_kernel(schedule, lanes, reduce.reduction()));
}

}  // namespace

Variant all_reduce_pcpy() {
  return {.info = {.collective = "all-reduce",
                   .variant = "pcpy",
                   .summary = "reduce-scatter by copies and a kernel, then all-gather of the sums",
                   .in_place = true,
                   .out_of_place = true},
          .plan = plan_all_reduce,
          .reduces = true};
}

}  // namespace cortado::plan
