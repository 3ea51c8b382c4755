// reduce-scatter add: engines add every block to the sum of its owner; no scratch memory and no kernel.
#include "plan/collective/reduction.hpp"

namespace cortado::plan {
namespace {

Result<Program> plan_reduce_scatter(Schedule& schedule) {
  ReduceScatter scatter(schedule);
  LaneGrid lanes(schedule);
  reduce_by_adding(schedule, lanes, scatter.reduction());
  return scatter.finish();
}

}  // namespace

Variant reduce_scatter_add() {
  return {.info = {.collective = "reduce-scatter",
                   .variant = "add",
                   .summary = "copies that add at the owner, chained so that they never meet",
                   .in_place = true,
                   .out_of_place = true},
          .plan = plan_reduce_scatter,
          .feature = &Features::near_memory_compute,
          .reduces = true};
}

}  // namespace cortado::plan
