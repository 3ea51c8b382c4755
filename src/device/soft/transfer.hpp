// Packets that move bytes: COPY in all its forms, WRITE and CONST_FILL.
//
// A transfer is counted in units that are never split: a byte of a linear copy, an element of an add or a fill, a dword
// of a WRITE, a row of a sub-window copy. Units may be moved in any order and in pieces of any size, which is how
// transfers of a queue overlap.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>

#include "cortado/machine.hpp"
#include "cortado/packets.hpp"

#include "device/soft/memory_map.hpp"
#include "device/soft/packet_fault.hpp"
#include "device/soft/tracker_unit.hpp"

namespace cortado::device::soft {

/// What the engines of the machine accept. A limit or alignment of 0 means none.
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

/// True for packets that start only when every earlier transfer of the queue has finished.
bool drains(const sdma::Packet& packet);

/// Where the operands of a transfer are in this process: offsets to be added to the addresses in the packet, modulo
/// 2^64.
struct HostPlaces {
  std::uint64_t src = 0;  ///< of a swap: b
  std::uint64_t dst = 0;  ///< of a swap: a; of a broadcast: the first
  std::uint64_t dst2 = 0;
  std::uint64_t list = 0;
  std::array<std::uint64_t, sdma::CopyMulticast::kMostDestinations> destinations{};  ///< of a multicast
};

/// Why the engine must not start the transfer: rules of the machine, alignment, addresses outside mapped memory. If
/// there is no reason, `places` is filled.
std::optional<PacketFault> check_transfer(const sdma::Packet& packet, const EngineRules& rules,
                                          const AddressSpace& memory, RangeCache& ranges, HostPlaces& places);

/// Calls visit(address, bytes, writes) for the bytes that the transfer reads and writes, row by row.
void for_each_access(const sdma::Packet& packet, const std::function<void(std::uint64_t, std::uint64_t, bool)>& visit);

/// Moves units first .. first + count - 1 of a transfer that passed the check.
void move_units(const sdma::Packet& packet, const HostPlaces& places, std::uint64_t first, std::uint64_t count);

/// The same if some memory is tracked: copies, with or without add, update trackers; other writes of tracked bytes are
/// faults. Addresses are host pointers.
std::optional<PacketFault> move_tracked_units(const sdma::Packet& packet, std::uint64_t first, std::uint64_t count,
                                              TrackerUnit& trackers);

}  // namespace cortado::device::soft
