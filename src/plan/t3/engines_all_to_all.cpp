// Chunk p of the product of rank r is stored at home; an engine brings its pieces to slot r of rank p as each is made.
#include "plan/t3/presets.hpp"

namespace cortado::plan {

std::vector<T3Map> engines_all_to_all(std::uint32_t ranks, std::uint64_t split_k) {
  std::vector<T3Map> maps;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    T3Map& map = maps.emplace_back(ranks);
    for (std::uint32_t step = 1; step < ranks; ++step) {
      const std::uint32_t peer = (rank + step) % ranks;
      map.dma_map(peer, {RankId{peer}, CopyOp::store, rank}, split_k, {}, ranks + peer);
    }
    map.keep(rank, split_k).in_turns();
    for (std::uint32_t step = 1; step < ranks; ++step) map.receive(rank, 1, (rank + step) % ranks);
  }
  return maps;
}

}  // namespace cortado::plan
