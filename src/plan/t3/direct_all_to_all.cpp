// Chunk p of the product of rank r is stored straight into slot r of rank p. Rank r makes those of ranks r+1, r+2, ...
// and its own last, in turns.
#include "plan/t3/presets.hpp"

namespace cortado::plan {

std::vector<T3Map> direct_all_to_all(std::uint32_t ranks, std::uint64_t split_k) {
  const CopyOp op = split_k > 1 ? CopyOp::add : CopyOp::store;  // all workgroups of a tile have a part of the sum
  std::vector<T3Map> maps;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    T3Map& map = maps.emplace_back(ranks);
    for (std::uint32_t step = 1; step < ranks; ++step) {
      const std::uint32_t peer = (rank + step) % ranks;
      map.remote_map(peer, RankId{peer}, op, rank);
    }
    map.keep(rank, split_k).in_turns();
    for (std::uint32_t step = 1; step < ranks; ++step) map.receive(rank, split_k, (rank + step) % ranks);
  }
  return maps;
}

}  // namespace cortado::plan
