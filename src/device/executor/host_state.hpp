// How far the interpretation of a host queue has got.
#pragma once

#include <cstdint>

namespace cortado::device {

struct HostState {
  std::uint32_t step = 0;
  std::uint64_t iteration = 0;     ///< within the batch
  bool inside = false;             ///< the caller has written the inputs of this iteration
  std::int64_t step_started = -1;  ///< ns since the run began; -1 = not tried yet. Kept only with tracing
};

}  // namespace cortado::device
