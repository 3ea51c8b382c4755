// broadcast bcst: the root pushes the buffer with packets that read it once and write it to two peers (peer_pairs.hpp).
#include "plan/collective/broadcast.hpp"
#include "plan/collective/peer_pairs.hpp"

namespace cortado::plan {
namespace {

Result<Program> plan_broadcast_bcst(Schedule& schedule) {
  BroadcastToAll broadcast(schedule);
  push_to_pairs(schedule, broadcast.root(), broadcast.input(), [&](RankId peer) { return broadcast.output(peer); });
  return broadcast.finish();
}

}  // namespace

Variant broadcast_bcst() {
  return {.info = {.collective = "broadcast",
                   .variant = "bcst",
                   .summary = "broadcast packets: one read, two peers",
                   .in_place = true,
                   .out_of_place = true},
          .plan = plan_broadcast_bcst,
          .has = [](const Features& features) { return features.broadcast; },
          .needs = "broadcast packets",
          .rooted = true};
}

}  // namespace cortado::plan
