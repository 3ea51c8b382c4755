// How many bytes a command counts as moved.
#pragma once

#include "cortado/program.hpp"

#include "ir/visit.hpp"

namespace cortado::device {

/// Bytes that arrive at destinations: a Broadcast writes two destinations, a Swap both of its regions.
inline Bytes moved_bytes(const Command& command) {
  return match(
      command, [](const Copy& copy) { return copy.dst.bytes(); },
      [](const Broadcast& broadcast) { return broadcast.src.bytes() * 2; },
      [](const Swap& swap) { return swap.a.bytes() * 2; }, [](const auto&) { return Bytes{}; });
}

}  // namespace cortado::device
