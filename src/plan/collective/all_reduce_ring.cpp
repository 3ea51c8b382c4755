// all-reduce cores-ring, add-ring: a reduce-scatter around a ring, then an all-gather of the sums around the same ring.
#include "plan/collective/all_reduce.hpp"
#include "plan/collective/ring.hpp"

namespace cortado::plan {
namespace {

Gathering gathering_of(const AllReduce& all, const Schedule& schedule) {
  Gathering gathering;
  gathering.own = all.reduction().sums;
  for (const RankId rank : schedule.ranks()) {
    auto& places = gathering.places.emplace_back();
    for (const RankId owner : schedule.ranks()) {
      places.push_back(all.sum(rank, owner, {}, all.reduction().blocks.size(owner.value)));
    }
  }
  return gathering;
}

}  // namespace

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
                ring.reduce_by_kernel(all.reduction());
                ring.gather(gathering_of(all, schedule));
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
                ring.reduce_by_adding(all.reduction());
                ring.gather(gathering_of(all, schedule));
                return all.finish();
              },
          .feature = &Features::near_memory_compute,
          .reduces = true,
          .ring = true};
}

}  // namespace cortado::plan
