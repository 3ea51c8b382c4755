// What the models of one GPU know of it: what products and copies share.
#pragma once

#include <array>
#include <cstddef>
#include <limits>

#include "cortado/machine/timing.hpp"

namespace cortado::pipeline {

inline constexpr double kNever = std::numeric_limits<double>::infinity();

inline double seconds(Nanoseconds time) {
  return static_cast<double>(time.value) * 1e-9;
}

/// What is shared, and what somebody takes of it in a second of full speed, or for a byte.
// Indices, named as constants are. NOLINTNEXTLINE(readability-identifier-naming)
enum Resource : std::size_t { kFabric, kMemory, kCache, kResources };
using Demand = std::array<double, kResources>;

inline Demand capacities(const MemoryTiming& memory) {
  const bool cached = memory.cache_bytes.value > 0;
  return {1, memory.rate.bytes_per_second(), cached ? memory.cache_rate.bytes_per_second() : kNever};
}

}  // namespace cortado::pipeline
