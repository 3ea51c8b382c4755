// Part of verify.machine: counters that engines compare.
#include <algorithm>

#include <fmt/format.h>

#include "ir/engine_signals.hpp"
#include "verify/machine_limits.hpp"

namespace cortado::verifier {

void check_counters(const Program& program, Findings& findings) {
  const std::vector<bool> by_engine = engine_signals(program);
  if (std::ranges::find(by_engine, true) == by_engine.end()) return;
  const std::vector<std::uint64_t> largest = largest_values(program);
  for (std::size_t s = 0; s < program.signals.size() && !findings.full(); ++s) {
    if (!by_engine[s] || largest[s] <= kMaxEngineCounter) continue;
    findings.add({},
                 fmt::format("signal {} reaches {} in one iteration, but DMA engines compare 32 bits",
                             program.signals[s].name, largest[s]),
                 fmt::format("use smaller values: at most {}", kMaxEngineCounter));
  }
}

}  // namespace cortado::verifier
