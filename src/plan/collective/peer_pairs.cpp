#include "plan/collective/peer_pairs.hpp"

#include <algorithm>

namespace cortado::plan {

std::vector<PeerPair> pair_peers(const Schedule& schedule, RankId rank) {
  std::vector<RankId> peers = schedule.peers_ascending(rank);
  const auto engine = [&](RankId peer) { return schedule.engine_towards(rank, peer); };
  std::stable_sort(peers.begin(), peers.end(), [&](RankId a, RankId b) { return engine(a) < engine(b); });
  std::vector<PeerPair> pairs;
  const std::size_t alone = peers.size() % 2;
  if (alone == 1) pairs.push_back({engine(peers[0]), peers[0], {}});
  for (std::size_t i = alone; i < peers.size(); i += 2) pairs.push_back({engine(peers[i + 1]), peers[i], peers[i + 1]});
  return pairs;
}

}  // namespace cortado::plan
