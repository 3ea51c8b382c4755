// all-reduce cores-ring, add-ring: a reduce-scatter around a ring, then an all-gather of the sums around the same ring.
#include "plan/collective/all_reduce.hpp"
#include "plan/collective/ring.hpp"

namespace cortado::plan {
Variant all_reduce_cores_ring() {
  return {.info = {.collective = "all-reduce",
                   .variant = "cores-ring",
                   .summary = "reduce-scatter by kernels around a ring, then all-gather of the sums; host per rank",
                   .in_place = true,
                   .out_of_place = true,
                   .on_cores = true},
          .plan =
              [](Schedule& schedule) {
                AllReduce all(schedule);
                Ring ring = Ring::on_cores(schedule);
                ring.reduce_by_kernel(terms_of(all.reduction()));
                ring.gather(all.gathering());
                return all.finish();
              },
          .reduces = true,
          .ring = true};
}

Variant all_reduce_add_ring() {
  return {.info = {.collective = "all-reduce",
                   .variant = "add-ring",
                   .summary = "copies that add to the neighbour's block around a ring, then all-gather of the sums",
                   .in_place = true,
                   .out_of_place = false},
          .plan =
              [](Schedule& schedule) {
                AllReduce all(schedule);
                Ring ring = Ring::on_engines(schedule);
                ring.reduce_by_adding(terms_of(all.reduction()));
                ring.gather(all.gathering());
                return all.finish();
              },
          .has = [](const Features& features) { return features.near_memory_compute; },
          .needs = "memory that adds (near_memory_compute)",
          .reduces = true,
          .ring = true};
}

}  // namespace cortado::plan
