// Every chunk is stored at home; engines add its pieces to the rank where the sum belongs as each is made, by one DMA
// command. Where engines fill links better than stores of compute units do, this is faster than direct stores, for a
// write and a read more.
#include "plan/t3/presets.hpp"

namespace cortado::plan {

std::vector<T3Map> engines_reduce_scatter(std::uint32_t ranks, std::uint64_t split_k) {
  std::vector<T3Map> maps;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    T3Map& map = maps.emplace_back(ranks);
    for (std::uint32_t step = 1; step < ranks; ++step) {
      const std::uint32_t peer = (rank + step) % ranks;
      map.dma_map(peer, {RankId{peer}, CopyOp::add}, split_k);
    }
    map.keep(rank, split_k + ranks - 1).in_turns();
  }
  return maps;
}

}  // namespace cortado::plan
