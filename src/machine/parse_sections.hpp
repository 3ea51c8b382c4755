// The sections of a machine file that have files of their own. All are read from the state that the earlier ones left
// in the machine; what is wrong is recorded in the reader.
#pragma once

#include <cstdint>
#include <string_view>

#include "cortado/machine/machine.hpp"

#include "machine/reader.hpp"

namespace cortado::internal {

/// A bound that no node reaches; it keeps a mistyped file from asking for absurd amounts of memory.
inline constexpr std::uint32_t kMaxGpus = 1024;

/// The word of links.topology for one port per GPU into a switch.
inline constexpr std::string_view kSwitch = "switch";

/// links.topology and links.counts, into linked and link_counts. Returns the word of the topology, empty for lists.
std::string_view read_topology(MachineReader& in, Machine& machine);

/// [host], [engine_timing], the rates of [links], [memory] and [cores], into timing: all of them or none.
void read_timing(MachineReader& in, Machine& machine, LinkShape shape);

/// [power] and the sections of its components, into power; after the timing, whose clocks the curves must hold.
void read_power(MachineReader& in, Machine& machine);

}  // namespace cortado::internal
