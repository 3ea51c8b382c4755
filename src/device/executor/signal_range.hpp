// How long a program may run before a counter leaves the range in which 32-bit polls compare
// exactly.
//
// DMA engines compare the low 32 bits of a counter (ir/engine_signals.hpp); counters of hosts and
// compute queues have 64. A run is cut into batches: between two batches the device is drained and
// all counters are reset to zero, which a program cannot notice, because its values are relative to
// the iteration.
#pragma once

#include <cstdint>
#include <vector>

#include "cortado/program.hpp"
#include "cortado/result.hpp"

namespace cortado::device {

/// For signals that no engine compares.
inline constexpr std::uint64_t kMaxWideCounter = (std::uint64_t{1} << 63) - 1;

/// The largest number n of iterations after which every counter and every awaited value is at most its limit,
/// kMaxEngineCounter or kMaxWideCounter: with D = advance and V = the largest value that one iteration adds up to, sets
/// or waits for, (n - 1) * D + V <= limit. Fails (device.counter) if not even one iteration fits, which the verifier
/// also rejects.
Result<std::uint64_t> batch_iterations(const Program& program, const std::vector<std::uint64_t>& advances);

}  // namespace cortado::device
