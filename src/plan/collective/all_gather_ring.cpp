// all-gather ring, cores-ring: every rank sends its block to its neighbour, then what came from the other side.
#include "plan/collective/all_gather.hpp"
#include "plan/collective/ring.hpp"

namespace cortado::plan {
namespace {

Result<Program> plan_all_gather_ring(Schedule& schedule, Ring (*make_ring)(Schedule& schedule)) {
  AllGather gather(schedule);
  Gathering gathering;
  for (const RankId rank : schedule.ranks()) {
    gathering.own.push_back(gather.input(rank));
    auto& places = gathering.places.emplace_back();
    for (const RankId owner : schedule.ranks()) places.push_back(gather.block(rank, owner));
  }
  make_ring(schedule).gather(gathering);
  for (const RankId rank : schedule.ranks()) gather.copy_own_block(rank);
  return gather.finish();
}

}  // namespace

Variant all_gather_ring() {
  return {.info = {.collective = "all-gather",
                   .variant = "ring",
                   .summary = "copies from neighbour to neighbour around a ring, one queue per rank",
                   .in_place = true,
                   .out_of_place = true},
          .plan = [](Schedule& schedule) { return plan_all_gather_ring(schedule, &Ring::on_engines); },
          .ring = true};
}

Variant all_gather_cores_ring() {
  return {.info = {.collective = "all-gather",
                   .variant = "cores-ring",
                   .summary = "kernels on compute units, from neighbour to neighbour around a ring; host per rank",
                   .in_place = true,
                   .out_of_place = true,
                   .on_cores = true},
          .plan = [](Schedule& schedule) { return plan_all_gather_ring(schedule, &Ring::on_cores); },
          .ring = true};
}

}  // namespace cortado::plan
