// What a collective takes of a GPU, in a few numbers.
#pragma once

#include <cstdint>

#include "cortado/base/units.hpp"
#include "cortado/ir/program.hpp"

namespace cortado::pipeline {

/// A collective alone, as the busiest GPU sees it.
struct CollectiveProfile {
  Nanoseconds time{};
  double bytes_out = 0;     ///< over its links
  double bytes_in = 0;      ///< over its links
  double footprint = 0;     ///< bytes of its buffers
  std::uint32_t peers = 0;  ///< GPUs that it sends to
};

/// From the program of a collective and its time.
CollectiveProfile profile_of(const Program& program, Nanoseconds time);

}  // namespace cortado::pipeline
