// A product is one chunk, that of rank s in slot s everywhere. Its pieces travel as they are made, and every rank
// passes on what it gets, but for the last one of the ring.
#include "plan/t3/presets.hpp"

namespace cortado::plan {

std::vector<T3Map> ring_all_gather(std::uint32_t ranks, std::uint64_t split_k) {
  std::vector<T3Map> maps;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const DmaOperation pass_on{RankId{(rank + 1) % ranks}};
    T3Map& map = maps.emplace_back(1);
    map.dma_map(0, pass_on, split_k, {}, rank);
    for (std::uint32_t hops = 1; hops + 1 < ranks; ++hops) map.relay(0, pass_on, 1, {}, (rank + ranks - hops) % ranks);
    map.receive(0, 1, (rank + 1) % ranks);
  }
  return maps;
}

}  // namespace cortado::plan
