// reduce-scatter pcpy: engines move every block to scratch memory of its owner, a kernel of the owner adds them.
#include "plan/collective/reduce_scatter.hpp"

namespace cortado::plan {

Variant reduce_scatter_pcpy() {
  return {.info = {.collective = "reduce-scatter",
                   .variant = "pcpy",
                   .summary = "copies into scratch memory of the owners, added there by a kernel",
                   .in_place = true,
                   .out_of_place = true},
          .plan = [](Schedule& schedule) { return plan_reduce_scatter(schedule, reduce_by_kernel); },
          .reduces = true};
}

}  // namespace cortado::plan
