// Why an engine cannot execute a packet, and the log of such faults.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "device/driver/driver.hpp"

namespace cortado::device::soft {

struct PacketFault {
  FaultKind kind{};
  std::uint64_t address = 0;  ///< 0 if the fault has none
  std::string message;
};

/// All faults of a node, in the order they happened.
class FaultLog {
 public:
  void add(EngineFault fault) {
    const std::lock_guard lock(mutex_);
    faults_.push_back(std::move(fault));
  }

  std::vector<EngineFault> all() const {
    const std::lock_guard lock(mutex_);
    return faults_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<EngineFault> faults_;
};

}  // namespace cortado::device::soft
