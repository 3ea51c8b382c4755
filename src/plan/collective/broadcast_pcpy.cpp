// broadcast pcpy: the root pushes the buffer to root+1, root+2, ... modulo N, each copy in its own queue on the engine
// that the machine prefers for that peer.
#include "plan/collective/broadcast.hpp"

namespace cortado::plan {
namespace {

Result<Program> plan_broadcast_pcpy(Schedule& schedule) {
  BroadcastToAll broadcast(schedule);
  for (const RankId peer : schedule.peers_after(broadcast.root())) {
    schedule.lane_towards(broadcast.root(), peer).copy(broadcast.input(), broadcast.output(peer));
  }
  return broadcast.finish();
}

}  // namespace

Variant broadcast_pcpy() {
  return {.info = {.collective = "broadcast",
                   .variant = "pcpy",
                   .summary = "the root copies to every peer, one queue each",
                   .in_place = true,
                   .out_of_place = true},
          .plan = plan_broadcast_pcpy,
          .rooted = true};
}

}  // namespace cortado::plan
