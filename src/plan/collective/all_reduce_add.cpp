// all-reduce add: a reduce-scatter with copies that add and an all-gather of the sums in one program; an owner starts
// to push a piece of its sum as soon as the last rank has added to it.
#include "plan/collective/reduction.hpp"

namespace cortado::plan {
namespace {

Result<Program> plan_all_reduce(Schedule& schedule) {
  AllReduce reduce(schedule);
  LaneGrid lanes(schedule);
  return reduce.finish(lanes, reduce_by_adding(schedule, lanes, reduce.reduction()));
}

}  // namespace

Variant all_reduce_add() {
  return {.info = {.collective = "all-reduce",
                   .variant = "add",
                   .summary = "reduce-scatter by copies that add, then all-gather of the sums",
                   .in_place = true,
                   .out_of_place = true},
          .plan = plan_all_reduce,
          .feature = &Features::near_memory_compute,
          .reduces = true};
}

}  // namespace cortado::plan
