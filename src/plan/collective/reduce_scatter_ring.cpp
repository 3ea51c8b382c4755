// reduce-scatter cores-ring, add-ring: blocks go around a ring and grow into sums on their way to their owners.
#include "plan/collective/reduce_scatter.hpp"
#include "plan/collective/ring.hpp"

namespace cortado::plan {

Variant reduce_scatter_cores_ring() {
  return {.info = {.collective = "reduce-scatter",
                   .variant = "cores-ring",
                   .summary = "kernels on compute units, from neighbour to neighbour around a ring; host per rank",
                   .in_place = true,
                   .out_of_place = true,
                   .on_cores = true},
          .plan =
              [](Schedule& schedule) {
                ReduceScatter scatter(schedule);
                Ring::on_cores(schedule).reduce_by_kernel(terms_of(scatter.reduction()));
                return scatter.finish();
              },
          .reduces = true,
          .ring = true};
}

Variant reduce_scatter_add_ring() {
  return {.info = {.collective = "reduce-scatter",
                   .variant = "add-ring",
                   .summary = "copies that add to the neighbour's block around a ring; the other blocks are used up",
                   .in_place = true,
                   .out_of_place = false},
          .plan =
              [](Schedule& schedule) {
                ReduceScatter scatter(schedule);
                Ring::on_engines(schedule).reduce_by_adding(terms_of(scatter.reduction()));
                return scatter.finish();
              },
          .has = [](const Features& features) { return features.near_memory_compute; },
          .needs = "memory that adds (near_memory_compute)",
          .reduces = true,
          .ring = true};
}

}  // namespace cortado::plan
