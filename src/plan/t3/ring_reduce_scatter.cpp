// Chunk c starts on rank c+1 and goes round the ring until it is complete on rank c; each rank on the way adds its own.
//
//   rank r makes chunks  r-1               straight into its slot on rank r+1
//                        r-2, ..., r+1     here; passed on when the sum of those before it has been added
//                        r                 here, complete when that sum has been added
//
// What arrives for the second chunk are the stores of the neighbour's first: split_k updates. All later ones come by
// one DMA command: one update.
#include "plan/t3/presets.hpp"

namespace cortado::plan {

std::vector<T3Map> ring_reduce_scatter(std::uint32_t ranks, std::uint64_t split_k) {
  std::vector<T3Map> maps;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const RankId next{(rank + 1) % ranks};
    T3Map& map = maps.emplace_back(ranks);
    map.remote_map((rank + ranks - 1) % ranks, next, CopyOp::add);
    for (std::uint32_t step = 2; step <= ranks; ++step) {
      const std::uint32_t chunk = (rank + ranks - step) % ranks;
      const std::uint64_t updates = split_k + (step == 2 ? split_k : 1);
      if (step < ranks) {
        map.dma_map(chunk, {next, CopyOp::add}, updates);
      } else {
        map.keep(chunk, updates);
      }
    }
  }
  return maps;
}

}  // namespace cortado::plan
