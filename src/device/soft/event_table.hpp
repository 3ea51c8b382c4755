// Events: what a TRAP packet fires and a host thread waits for.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "device/driver/driver.hpp"

namespace cortado::device::soft {

class EventTable {
 public:
  /// Ids fit in the 28 bits of a TRAP packet and are never reused.
  std::uint32_t create(const Memory& mailbox);
  /// Returns the mailbox memory, to be released by the caller; empty if there is no such event.
  Memory destroy(std::uint32_t id);

  /// A TRAP with an unknown id is ignored.
  void fire(std::uint32_t id);
  /// True once per firing: consumes the firing.
  bool take(std::uint32_t id);
  /// Like take(), but sleeps for at most this time.
  bool take_within(std::uint32_t id, std::chrono::nanoseconds time);

 private:
  struct State {
    bool fired = false;
    Memory mailbox;
  };

  bool take_locked(std::uint32_t id);

  std::mutex mutex_;
  std::condition_variable fired_;
  std::unordered_map<std::uint32_t, State> events_;
  std::uint32_t next_ = 1;
};

}  // namespace cortado::device::soft
