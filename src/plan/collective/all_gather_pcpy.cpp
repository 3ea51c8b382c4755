// all-gather pcpy: every rank i pushes its block to i+1, i+2, ... modulo N, each copy in its own queue on the engine
// that the machine prefers for that peer.
#include "plan/collective/all_gather.hpp"

namespace cortado::plan {
namespace {

Result<Program> plan_all_gather_pcpy(Schedule& schedule) {
  AllGather gather(schedule);
  for (const RankId rank : schedule.ranks()) {
    for (const RankId peer : schedule.peers_after(rank)) {
      schedule.lane_towards(rank, peer).copy(gather.input(rank), gather.block(peer, rank));
    }
    gather.copy_own_block(rank);
  }
  return gather.finish();
}

}  // namespace

Variant all_gather_pcpy() {
  return {.info = {.collective = "all-gather",
                   .variant = "pcpy",
                   .summary = "one copy and one queue per peer, each on the engine nearest to it",
                   .in_place = true,
                   .out_of_place = true},
          .plan = plan_all_gather_pcpy};
}

}  // namespace cortado::plan
