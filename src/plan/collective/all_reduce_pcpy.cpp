// all-reduce pcpy: a reduce-scatter by copies into scratch memory and kernels, then an all-gather of the sums.
#include "plan/collective/all_reduce.hpp"

namespace cortado::plan {

Variant all_reduce_pcpy() {
  return {.info = {.collective = "all-reduce",
                   .variant = "pcpy",
                   .summary = "reduce-scatter by copies and a kernel, then all-gather of the sums",
                   .in_place = true,
                   .out_of_place = true},
          .plan = [](Schedule& schedule) { return plan_all_reduce(schedule, reduce_by_kernel); },
          .reduces = true};
}

}  // namespace cortado::plan
