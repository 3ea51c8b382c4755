// What tests leave out under sanitizers, where they take ten to twenty times as long: inputs that run the same code as
// the others. The plain builds check the results of all of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace cortado {

/// How many random problems to try: `all`, or a tenth of them.
constexpr int tried_problems(int all) {
#ifdef CORTADO_SANITIZED
  return std::max(all / 10, 2);
#else
  return all;
#endif
}

/// Values to go through: `all`, or the first `few`.
template <class T>
std::vector<T> tried_values(std::initializer_list<T> all, [[maybe_unused]] std::size_t few) {
  std::vector<T> values(all);
#ifdef CORTADO_SANITIZED
  values.resize(std::min(few, values.size()));
#endif
  return values;
}

/// Numbers of ranks to go through: `all`, or those up to five.
inline std::vector<std::uint32_t> swept_ranks(std::initializer_list<std::uint32_t> all) {
  std::vector<std::uint32_t> ranks(all);
#ifdef CORTADO_SANITIZED
  std::erase_if(ranks, [](std::uint32_t count) { return count > 5; });
#endif
  return ranks;
}

}  // namespace cortado
