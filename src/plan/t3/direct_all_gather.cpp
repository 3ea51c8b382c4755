// A product is one chunk, that of rank s in slot s everywhere. Every piece goes to all other ranks when it is made, by
// one DMA command each.
#include "plan/t3/presets.hpp"

namespace cortado::plan {

std::vector<T3Map> direct_all_gather(std::uint32_t ranks, std::uint64_t split_k) {
  std::vector<T3Map> maps;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    std::vector<DmaOperation> all;
    for (std::uint32_t step = 1; step < ranks; ++step) all.push_back({RankId{(rank + step) % ranks}});
    T3Map& map = maps.emplace_back(1);
    map.dma_map(0, all, split_k, {}, rank);
    for (const DmaOperation& from : all) map.receive(0, 1, from.to.value);
  }
  return maps;
}

}  // namespace cortado::plan
