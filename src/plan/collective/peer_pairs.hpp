// How the broadcast variants pair the peers of a rank.
#pragma once

#include <optional>
#include <vector>

#include "plan/collective/schedule.hpp"

namespace cortado::plan {

/// One command: to `first` alone, or to `first` and `second`.
struct PeerPair {
  EngineId engine;
  RankId first;
  std::optional<RankId> second;
};

/// The peers sorted by their preferred engine. If their number is odd, the one with the lowest engine stays alone; the
/// others are paired consecutively, and the command runs on the higher engine of the pair.
std::vector<PeerPair> pair_peers(Schedule& schedule, RankId rank);

/// The copies and broadcasts of `src` for these pairs, each in its own queue; target(peer) is the region at the peer.
template <class Target>
void push_to_pairs(Schedule& schedule, RankId rank, const Region& src, Target&& target) {
  for (const PeerPair& pair : pair_peers(schedule, rank)) {
    Lane lane = schedule.lane(rank, pair.engine);
    if (pair.second) {
      lane.broadcast(src, target(pair.first), target(*pair.second));
    } else {
      lane.copy(src, target(pair.first));
    }
  }
}

}  // namespace cortado::plan
