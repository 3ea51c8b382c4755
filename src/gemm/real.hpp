// Counts as real numbers.
#pragma once

#include <cstdint>

namespace cortado {

inline double real(std::uint64_t count) {
  return static_cast<double>(count);
}

}  // namespace cortado
