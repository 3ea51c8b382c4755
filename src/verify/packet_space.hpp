// How much of its ring a command of a dma queue takes.
#pragma once

#include <cstdint>

#include "cortado/machine.hpp"
#include "cortado/program.hpp"

#include "ir/packing.hpp"

namespace cortado {

/// Size of its packets in dwords. On a machine with 32-bit packets, a 64-bit compare or store takes two packets; that
/// is the upper bound used here. Commands that are never on a dma queue take none.
std::uint64_t packet_dwords(const Command& command, const DmaLimits& limits);

/// Size of packets of several commands, a format defined by this project.
inline constexpr std::uint64_t kFusedDwords = 14;
inline constexpr std::uint64_t kListDwords = 9;
constexpr std::uint64_t multicast_dwords(std::uint64_t destinations) {
  return 5 + 2 * destinations;
}

PackingLimits packing_limits(const Features& features);

/// Whether the machine has such packets.
bool has_packing(const Features& features, Packing packing);

/// What the host, or a kernel, writes to submit the queue: packets, and entries of address lists, which are assumed to
/// cost the same.
std::uint64_t written_packets(const Queue& queue, const Features& features);

/// Dwords of all packets of a queue.
std::uint64_t packets_dwords(const Queue& queue, const DmaLimits& limits, const Features& features);

}  // namespace cortado
