// all-reduce add: a reduce-scatter by copies that add, then an all-gather of the sums.
#include "plan/collective/all_reduce.hpp"

namespace cortado::plan {

Variant all_reduce_add() {
  return {.info = {.collective = "all-reduce",
                   .variant = "add",
                   .summary = "reduce-scatter by copies that add, then all-gather of the sums",
                   .in_place = true,
                   .out_of_place = true},
          .plan = [](Schedule& schedule) { return plan_all_reduce(schedule, reduce_by_adding); },
          .feature = &Features::near_memory_compute,
          .reduces = true};
}

}  // namespace cortado::plan
