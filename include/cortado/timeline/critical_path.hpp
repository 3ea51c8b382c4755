// The critical path of an iteration: the chain of spans and gaps that decided when it ended, walked backwards.
//
// At the end of a Wait the walk goes on with the span that raised the signal; at the start of any other span with what
// let it start: the last thing that finished on its track, or the Submit of its queue. Each moment of the iteration is
// on the path once, so the parts add up to its time.
//
// Example: one copy of 2 us. The host's last look at the signal (wait), the Signal (sync), the copy, the fetch between
// doorbell and copy (schedule) and the Submit (host) are all of it. Of seven copies that run at the same time only the
// one that ended last is on the path.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>

#include "cortado/base/units.hpp"
#include "cortado/timeline/timeline.hpp"

namespace cortado {

struct CriticalPath {
  Nanoseconds host;      ///< host threads at work: submissions, triggers, signals
  Nanoseconds schedule;  ///< doorbell or launch until the queue begins, and gaps between commands of a queue
  Nanoseconds copy;      ///< DMA copies: start-up, bytes, and distance to the next copy of the queue
  Nanoseconds kernel;    ///< compute units at work
  Nanoseconds sync;      ///< signals of engines and kernels: last byte until they are visible
  Nanoseconds wait;      ///< a signal is visible until the waiter noticed it

  constexpr std::array<Nanoseconds, 6> in_order() const { return {host, schedule, copy, kernel, sync, wait}; }
};

inline constexpr std::array<std::string_view, 6> kCriticalPathNames{"host",   "schedule", "copy",
                                                                    "kernel", "sync",     "wait"};

/// How much of a copy passes before its first byte moves.
using StartUp = std::function<Nanoseconds(const Span& copy)>;

/// Of the last iteration of a traced timeline, which ends with the last span of its host queues and is as long as its
/// time says. All zero without spans. With `start_up` that part of copies counts as schedule.
CriticalPath critical_path(const Timeline& timeline, const StartUp& start_up = {});

}  // namespace cortado
