#include "device/executor/signal_range.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "ir/engine_signals.hpp"

namespace cortado::device {

Result<std::uint64_t> batch_iterations(const Program& program, const std::vector<std::uint64_t>& advances) {
  const std::vector<std::uint64_t> largest = largest_values(program);
  const std::vector<bool> by_engine = engine_signals(program);
  std::uint64_t iterations = std::numeric_limits<std::uint64_t>::max();
  for (std::size_t s = 0; s < advances.size(); ++s) {
    const std::uint64_t limit = by_engine[s] ? kMaxEngineCounter : kMaxWideCounter;
    if (largest[s] > limit) {
      return fail("device.counter",
                  fmt::format("signal {} reaches {} in one iteration, but DMA engines compare 32 bits",
                              program.signals[s].name, largest[s]),
                  fmt::format("use smaller values: at most {}", limit));
    }
    if (advances[s] > 0) iterations = std::min(iterations, (limit - largest[s]) / advances[s] + 1);
  }
  return iterations;
}

}  // namespace cortado::device
