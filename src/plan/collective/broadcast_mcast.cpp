// broadcast mcast: the root pushes the buffer with packets that read it once and write it to all peers, or to as many
// as a packet allows.
#include "plan/collective/broadcast.hpp"

namespace cortado::plan {
namespace {

Result<Program> plan_broadcast_mcast(Schedule& schedule) {
  BroadcastToAll broadcast(schedule);
  const std::vector<RankId> peers = schedule.peers_after(broadcast.root());
  std::vector<Region> destinations;
  for (const RankId peer : peers) destinations.push_back(broadcast.output(peer));
  schedule.lane_towards(broadcast.root(), peers.front()).multicast(broadcast.input(), destinations);
  return broadcast.finish();
}

}  // namespace

Variant broadcast_mcast() {
  return {.info = {.collective = "broadcast",
                   .variant = "mcast",
                   .summary = "multicast packets: one read, all peers",
                   .in_place = true,
                   .out_of_place = true},
          .plan = plan_broadcast_mcast,
          .has = [](const Features& features) { return features.multicast.has_value(); },
          .needs = "multicast packets",
          .rooted = true};
}

}  // namespace cortado::plan
