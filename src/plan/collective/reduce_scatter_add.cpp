// reduce-scatter add: engines add every block to the sum of its owner; no scratch memory and no kernel.
#include "plan/collective/reduce_scatter.hpp"

namespace cortado::plan {

Variant reduce_scatter_add() {
  return {.info = {.collective = "reduce-scatter",
                   .variant = "add",
                   .summary = "copies that add at the owner, chained so that they never meet",
                   .in_place = true,
                   .out_of_place = true},
          .plan = [](Schedule& schedule) { return plan_reduce_scatter(schedule, reduce_by_adding); },
          .feature = &Features::near_memory_compute,
          .reduces = true};
}

}  // namespace cortado::plan
