// What a command of a dma queue takes of its ring.
#pragma once

#include <cstdint>

#include "cortado/machine.hpp"
#include "cortado/program.hpp"

namespace cortado {

/// Dwords of its packets. A 64-bit compare or store of a machine with 32-bit packets takes two of them; that is the
/// upper bound used here. Commands that never stand on a dma queue take none.
std::uint64_t packet_dwords(const Command& command, const DmaLimits& limits);

}  // namespace cortado
