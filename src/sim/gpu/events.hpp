// What can happen in a simulated run.
#pragma once

#include <cstdint>

#include "sim/kernel/event_queue.hpp"

namespace cortado::sim {

enum class EventKind : std::uint8_t {
  step,            ///< queue `index` continues
  fetched,         ///< the engine or compute units of queue `index` have one more iteration of commands
  copy_ready,      ///< the oldest copy of dma queue `index` that is not moving has passed its start-up
  transfer_end,    ///< flow `index` has moved its last byte
  signal_visible,  ///< raise `index` becomes visible to all
  tiles_released,  ///< a signal that tiles of queue `index` wait for has been raised
  update_lands,    ///< update `index` of a tracker has arrived over a link
  settle,          ///< rates are recomputed
  control,         ///< a control interval of the power management is over
};

struct Event {
  EventKind kind{};
  std::uint32_t index = 0;
};

using Events = EventQueue<Event>;

}  // namespace cortado::sim
