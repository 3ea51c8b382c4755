// all-gather mcast: every rank pushes its block with packets that read it once and write it to all peers, or to as many
// as a packet allows.
#include "plan/collective/all_gather.hpp"

namespace cortado::plan {
namespace {

Result<Program> plan_all_gather_mcast(Schedule& schedule) {
  AllGather gather(schedule);
  for (const RankId rank : schedule.ranks()) {
    const std::vector<RankId> peers = schedule.peers_after(rank);
    std::vector<Region> destinations;
    for (const RankId peer : peers) destinations.push_back(gather.block(peer, rank));
    schedule.lane_towards(rank, peers.front()).multicast(gather.input(rank), destinations);
    gather.copy_own_block(rank);
  }
  return gather.finish();
}

}  // namespace

Variant all_gather_mcast() {
  return {.info = {.collective = "all-gather",
                   .variant = "mcast",
                   .summary = "multicast packets: one read, all peers; one command, signal and doorbell per rank",
                   .in_place = true,
                   .out_of_place = true},
          .plan = plan_all_gather_mcast,
          .has = [](const Features& features) { return features.multicast.has_value(); },
          .needs = "multicast packets"};
}

}  // namespace cortado::plan
