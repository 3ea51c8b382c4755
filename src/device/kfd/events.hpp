// Events of the node: what TRAP packets fire, and the exception that the driver reports for a bad address.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "cortado/result.hpp"

#include "device/driver/driver.hpp"
#include "device/kfd/memory.hpp"

namespace cortado::device {

/// Thread safe. Its arguments must outlive it.
class KfdEvents {
 public:
  KfdEvents(KfdSystem& system, const KfdFiles& files, const Discovery& discovery, KfdMemory& memory)
      : system_(system), files_(files), discovery_(discovery), memory_(memory) {}
  KfdEvents(const KfdEvents&) = delete;
  KfdEvents& operator=(const KfdEvents&) = delete;

  /// Subscribes to memory exceptions. A driver without them reports none.
  void watch_exceptions();

  Result<Event> create();
  void destroy(const Event& event);
  void destroy_all();
  bool wait(const Event& event, std::chrono::nanoseconds timeout);

  /// A memory exception ends all queues of the process, so there is at most one. The driver reports GPU and address,
  /// but not which engine and queue it was.
  std::vector<EngineFault> faults();

 private:
  struct Created {
    std::uint32_t id = 0;
    std::uint32_t slot = 0;
  };
  Expected<Created, int> create_locked(kfd::EventType type);
  void destroy_id(std::uint32_t id);

  KfdSystem& system_;
  const KfdFiles& files_;
  const Discovery& discovery_;
  KfdMemory& memory_;
  std::mutex mutex_;                      // guards everything below
  std::optional<KfdMemory::Exact> page_;  // holds the mailboxes; created with the first event
  bool page_known_ = false;               // registered with the driver
  std::vector<std::uint32_t> live_;
  std::optional<std::uint32_t> exception_;
  std::vector<EngineFault> faults_;
};

}  // namespace cortado::device
