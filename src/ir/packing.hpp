// Which commands of a dma queue share one packet (Packing), and the lists of addresses that packets walk.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "cortado/program.hpp"

namespace cortado {

/// The most that one packet can hold; 0 where the machine has no such packets.
struct PackingLimits {
  std::uint32_t destinations = 0;  ///< of a multicast
  std::uint32_t entries = 0;       ///< of a list
  bool fused = false;
};

/// Commands `first` to `first + count - 1` of a queue.
struct PackedCommands {
  std::uint32_t first = 0;
  std::uint32_t count = 1;
  friend bool operator==(const PackedCommands&, const PackedCommands&) = default;
};

/// The packets of a queue, in order. A command that fits no packet of several commands has its own.
std::vector<PackedCommands> packets_of(const Queue& queue, const PackingLimits& limits);

/// Where a copy of a list reads and writes: offsets in bytes from the first copy of the list, modulo 2^64.
struct ListEntry {
  std::uint64_t src = 0;
  std::uint64_t dst = 0;
  friend auto operator<=>(const ListEntry&, const ListEntry&) = default;
};

/// The lists of a queue, one after another. Packets whose copies have the same layout share one: a block table is
/// written once for all layers.
struct AddressLists {
  std::vector<ListEntry> entries;
  std::vector<std::uint32_t> first;  ///< by packet: its first entry; meaningless for packets of one command
};
AddressLists address_lists(const Queue& queue, const std::vector<PackedCommands>& packets);

}  // namespace cortado
