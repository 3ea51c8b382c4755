// Every chunk is stored straight where its sum belongs: rank r makes those of ranks r+1, r+2, ... and its own last, in
// turns, so that all links are in use and every rank is written to by all others at any time.
#include "plan/t3/presets.hpp"

namespace cortado::plan {

std::vector<T3Map> direct_reduce_scatter(std::uint32_t ranks, std::uint64_t split_k) {
  std::vector<T3Map> maps;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    T3Map& map = maps.emplace_back(ranks);
    for (std::uint32_t step = 1; step < ranks; ++step) {
      const std::uint32_t peer = (rank + step) % ranks;
      map.remote_map(peer, RankId{peer}, CopyOp::add);
    }
    map.keep(rank, ranks * split_k).in_turns();
  }
  return maps;
}

}  // namespace cortado::plan
