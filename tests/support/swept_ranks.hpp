// How many ranks the sweeps of tests go through.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace cortado {

/// `all`, except under sanitizers, where programs of many ranks take minutes and run the same code as those of few:
/// there the sweep ends at five ranks.
inline std::vector<std::uint32_t> swept_ranks(std::initializer_list<std::uint32_t> all) {
  std::vector<std::uint32_t> ranks(all);
#ifdef CORTADO_SANITIZED
  std::erase_if(ranks, [](std::uint32_t count) { return count > 5; });
#endif
  return ranks;
}

}  // namespace cortado
