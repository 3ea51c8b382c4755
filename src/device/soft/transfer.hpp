// Packets that move bytes: COPY in all its forms, WRITE and CONST_FILL.
//
// A transfer is counted in units that are never split: a byte of a linear copy, an element of an add or a fill, a dword
// of a WRITE, a row of a sub-window copy. Units may be moved in any order and in pieces of any size, which is how
// transfers of a queue overlap.
#pragma once

#include <cstdint>
#include <optional>

#include "cortado/machine.hpp"
#include "cortado/packets.hpp"

#include "device/soft/memory_map.hpp"
#include "device/soft/packet_fault.hpp"
#include "device/soft/tracker_unit.hpp"

namespace cortado::device::soft {

/// What the engines of the machine accept. A limit or an alignment of 0 binds nothing.
struct EngineRules {
  DmaLimits limits;
  Features features;
};

struct TransferShape {
  std::uint64_t units = 0;
  std::uint64_t unit_bytes = 0;
};

/// None for packets that move no bytes.
std::optional<TransferShape> transfer_shape(const sdma::Packet& packet);

/// Why the engine must not start the transfer: rules of the machine, alignment, addresses outside of memory.
std::optional<PacketFault> check_transfer(const sdma::Packet& packet, const EngineRules& rules, const MemoryMap& memory,
                                          RangeCache& ranges);

/// Moves units first .. first + count - 1 of a transfer that passed the check.
void move_units(const sdma::Packet& packet, std::uint64_t first, std::uint64_t count);

/// The same where some memory has trackers: copies, with and without add, update them, other writes of tracked bytes
/// are faults.
std::optional<PacketFault> move_tracked_units(const sdma::Packet& packet, std::uint64_t first, std::uint64_t count,
                                              TrackerUnit& trackers);

}  // namespace cortado::device::soft
