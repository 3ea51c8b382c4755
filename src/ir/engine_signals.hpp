// Signals that DMA engines compare or store. Their packets hold 32 bits, so these counters must stay small.
#pragma once

#include <cstdint>
#include <vector>

#include "cortado/program.hpp"

namespace cortado {

/// The largest value that such a signal may reach in one iteration. Half the range of 32 bits: code that replays the
/// program resets the counters before they exceed it.
inline constexpr std::uint64_t kMaxEngineCounter = 0x7fffffff;

/// By SignalId: whether some dma queue waits for the signal or sets it. An atomic add has 64 bits and does not count.
std::vector<bool> engine_signals(const Program& program);

/// By SignalId: the largest value that one iteration adds, sets or waits for.
std::vector<std::uint64_t> largest_values(const Program& program);

}  // namespace cortado
