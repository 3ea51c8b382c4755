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
  /// Ids fit the 28 bits of a TRAP packet and are never used again.
  std::uint32_t create(const Memory& mailbox);
  /// The mailbox memory, to be released by the caller; empty if there is no such event.
  Memory destroy(std::uint32_t id);

  /// A TRAP with an unknown id interrupts nobody.
  void fire(std::uint32_t id);
  /// True once per firing: takes the firing.
  bool take(std::uint32_t id);
  /// As take(), after sleeping for at most so long.
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
