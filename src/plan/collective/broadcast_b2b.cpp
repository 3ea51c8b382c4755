// broadcast b2b: the root pushes the buffer to root+1, root+2, ... modulo N with back-to-back copies in one queue that
// share one doorbell and one signal. With `ways` w there are ceil((N-1)/w) such queues.
#include "plan/collective/broadcast.hpp"

namespace cortado::plan {
namespace {

Result<Program> plan_broadcast_b2b(Schedule& schedule) {
  BroadcastToAll broadcast(schedule);
  const std::vector<RankId> peers = schedule.peers_after(broadcast.root());
  std::vector<Lane> lanes = schedule.back_to_back_lanes(broadcast.root(), peers);
  for (std::size_t i = 0; i < peers.size(); ++i) lanes[i].copy(broadcast.input(), broadcast.output(peers[i]));
  return broadcast.finish();
}

}  // namespace

Variant broadcast_b2b() {
  return {.info = {.collective = "broadcast",
                   .variant = "b2b",
                   .summary = "all copies of the root back to back in one queue, one signal",
                   .in_place = true,
                   .out_of_place = true},
          .plan = plan_broadcast_b2b,
          .rooted = true,
          .takes_ways = true};
}

}  // namespace cortado::plan
