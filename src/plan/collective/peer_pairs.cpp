#include "plan/collective/peer_pairs.hpp"

#include <algorithm>
#include <utility>

namespace cortado::plan {

std::vector<PeerPair> pair_peers(Schedule& schedule, RankId rank) {
  std::vector<std::pair<EngineId, RankId>> peers;
  for (const RankId peer : schedule.peers_ascending(rank))
    peers.emplace_back(schedule.engine_towards(rank, peer), peer);
  std::sort(peers.begin(), peers.end());
  std::vector<PeerPair> pairs;
  const std::size_t alone = peers.size() % 2;
  if (alone == 1) pairs.push_back({peers[0].first, peers[0].second, {}});
  for (std::size_t i = alone; i < peers.size(); i += 2) {
    pairs.push_back({peers[i + 1].first, peers[i].second, peers[i + 1].second});
  }
  return pairs;
}

}  // namespace cortado::plan
