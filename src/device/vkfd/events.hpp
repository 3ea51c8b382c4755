// Events of the virtual driver: signals that TRAP packets set, and exceptions.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "device/abi/kfd_abi.hpp"

namespace cortado::device::vkfd {

/// Functions that answer an ioctl return 0 or an errno. Thread safe.
class Events {
 public:
  int create(kfd::CreateEvent& request);
  int destroy(std::uint32_t id);
  int set(std::uint32_t id);
  int reset(std::uint32_t id);
  /// Blocks.
  int wait(kfd::WaitEvents& request);

  /// A TRAP packet with that context. Unknown ids are ignored.
  void trap(std::uint32_t id);
  /// Every memory event of the process receives it.
  void raise(const kfd::MemoryException& exception);

 private:
  struct State {
    kfd::EventType type{};
    bool auto_reset = false;
    bool signaled = false;
    std::uint64_t age = 1;
    kfd::MemoryException exception{};
  };

  static void signal(State& state);
  /// 0, ETIME if it has to wait, or an errno.
  int look(std::vector<kfd::EventData>& data, bool all);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint32_t, State> states_;
  std::set<std::uint32_t> free_ids_;  // of destroyed signals
  std::uint32_t next_signal_ = 1;
  std::uint32_t next_other_ = kfd::kMostSignals;  // those without a slot in the event page
};

}  // namespace cortado::device::vkfd
