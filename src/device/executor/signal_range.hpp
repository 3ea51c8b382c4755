// How long a program may run before a counter leaves the range that 32-bit polls compare exactly.
//
// DMA engines compare the low 32 bits of a counter (ir/engine_signals.hpp); the counters of hosts and compute queues
// have
// 64. A run is cut into batches: between two of them the device is
// drained and all counters are set back to zero, which a program cannot notice, because its values are relative to the
// iteration.
#pragma once

#include <cstdint>
#include <vector>

#include "cortado/program.hpp"
#include "cortado/result.hpp"

namespace cortado::device {

/// Of signals that no engine compares.
inline constexpr std::uint64_t kMaxWideCounter = (std::uint64_t{1} << 63) - 1;

/// The most iterations after which every counter and every awaited value is at most its limit, kMaxEngineCounter or
/// kMaxWideCounter: with D = advance and V = the largest value that one iteration adds up to, sets or waits for,
/// (n - 1) * D + V <= limit. Fails (device.counter) if not even one iteration fits, which the verifier refuses as well.
Result<std::uint64_t> batch_iterations(const Program& program, const std::vector<std::uint64_t>& advances);

}  // namespace cortado::device
