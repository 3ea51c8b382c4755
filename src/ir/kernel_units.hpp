// The compute units of a kernel whose parts are queues.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace cortado {

/// The units that a kernel holds, given how many each of its parts may use. A part that may use as many as all others
/// together works while they wait (a reduction after an exchange), on the same units.
inline std::uint32_t units_of_parts(std::span<const std::uint32_t> parts) {
  std::uint32_t sum = 0;
  std::uint32_t largest = 0;
  for (const std::uint32_t units : parts) {
    sum += units;
    largest = std::max(largest, units);
  }
  return parts.size() > 1 && largest >= sum - largest ? largest : sum;
}

}  // namespace cortado
