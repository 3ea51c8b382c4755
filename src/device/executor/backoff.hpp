// When a thread that waits for memory to change should sleep.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

namespace cortado::device {

/// A thread stays awake for as long as a healthy collective may take to answer. After that it sleeps between checks,
/// each time for a small fraction of the time that it has waited so far, so that it never notices the end much too
/// late.
class Backoff {
 public:
  using Time = std::chrono::nanoseconds;

  static constexpr Time kAwake = std::chrono::milliseconds(10);
  static constexpr Time kLongestNap = std::chrono::milliseconds(1);
  static constexpr int kShare = 64;

  /// Something moved, or there was something to do.
  void moved() { idle_since_.reset(); }

  /// Nothing has moved since the last call: returns how long to sleep.
  Time nap(Time now) {
    if (!idle_since_) idle_since_ = now;
    const Time idle = now - *idle_since_;
    return idle < kAwake ? Time(0) : std::min(idle / kShare, kLongestNap);
  }

 private:
  std::optional<Time> idle_since_;
};

}  // namespace cortado::device
