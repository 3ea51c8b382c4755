// The machine's timing for the protocol of a compute queue.
#pragma once

#include "cortado/machine.hpp"
#include "cortado/program.hpp"

namespace cortado::sim {

/// Null for kernels that are not from a library, for protocols that the machine does not have, and for multicast, which
/// has timing of its own (MulticastTiming).
inline const ProtocolTiming* timing_of(Protocol protocol, const Timing& timing) {
  if (!timing.library) return nullptr;
  const LibraryTiming& library = *timing.library;
  switch (protocol) {
    case Protocol::ll:
      return &library.ll.timing;
    case Protocol::ll128:
      return library.ll128 ? &library.ll128->timing : nullptr;
    case Protocol::simple:
      return &library.simple.timing;
    case Protocol::sends:
      return &library.sends;
    case Protocol::none:
    case Protocol::multicast:
      return nullptr;
  }
  return nullptr;
}

inline const MulticastTiming* multicast_of(Protocol protocol, const Timing& timing) {
  if (protocol != Protocol::multicast || !timing.library || !timing.library->multicast) return nullptr;
  return &*timing.library->multicast;
}

/// Share of the link rate that stores and loads of compute units reach.
inline double wire_efficiency(Protocol protocol, const Timing& timing) {
  if (const MulticastTiming* multicast = multicast_of(protocol, timing)) return multicast->wire_efficiency;
  const ProtocolTiming* library = timing_of(protocol, timing);
  return library != nullptr ? library->wire_efficiency : timing.cores.wire_efficiency;
}

/// From launch to the first instruction.
inline Nanoseconds start_of(Protocol protocol, const Timing& timing) {
  if (const MulticastTiming* multicast = multicast_of(protocol, timing)) return multicast->start;
  const ProtocolTiming* library = timing_of(protocol, timing);
  return library != nullptr ? library->start : timing.cores.start;
}

/// Time of a signal in the memory of another GPU.
inline Nanoseconds step_of(Protocol protocol, const Timing& timing) {
  const ProtocolTiming* library = timing_of(protocol, timing);
  return library != nullptr ? library->step : timing.cores.flag;
}

}  // namespace cortado::sim
