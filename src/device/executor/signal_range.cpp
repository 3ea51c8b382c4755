#include "device/executor/signal_range.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace cortado::device {

Result<std::uint64_t> batch_iterations(const Program& program, const std::vector<std::uint64_t>& advances) {
  std::vector<std::uint64_t> largest = advances;
  for (const Queue& queue : program.queues) {
    for (const Command& command : queue.commands) {
      if (const auto* wait = std::get_if<Wait>(&command)) {
        largest[wait->signal.value] = std::max(largest[wait->signal.value], wait->value);
      }
    }
  }
  std::uint64_t iterations = std::numeric_limits<std::uint64_t>::max();
  for (std::size_t s = 0; s < advances.size(); ++s) {
    if (largest[s] > kMaxCounter) {
      return fail("device.counter",
                  fmt::format("signal {} reaches {} in one iteration, but DMA engines compare 32 bits",
                              program.signals[s].name, largest[s]),
                  "use smaller values: at most 2147483647");
    }
    if (advances[s] > 0) iterations = std::min(iterations, (kMaxCounter - largest[s]) / advances[s] + 1);
  }
  return iterations;
}

}  // namespace cortado::device
