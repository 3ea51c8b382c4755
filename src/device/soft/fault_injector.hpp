// Deliberate failures (FaultInjection), as the queues of one engine experience them.
//
// A slow engine is slow for ever. Every other entry takes effect once: in the first queue of its engine that reaches
// the count. A stalled engine fetches for none of its queues until the queue that hit the stall is destroyed, which
// resets the engine.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "device/soft/soft.hpp"

namespace cortado::device::soft {

/// The entries of one engine. Safe for concurrent use by its queues.
class EngineInjection {
 public:
  EngineInjection(const FaultInjection& faults, RankId gpu, EngineId engine);
  bool empty() const { return entries_.empty() && slowness_ <= 1; }

  /// Whether doorbell `n` of a queue is lost.
  bool drops_doorbell(std::uint64_t n);
  /// Whether the queue stalls after this many packets.
  bool stalls(std::uint32_t queue, std::uint64_t packets);
  /// Whether signal `n` of a queue is not written.
  bool loses_signal(std::uint64_t n);
  /// By how many nanoseconds signal `n` of a queue is delayed; 0 = not.
  std::uint64_t delays_signal(std::uint64_t n);
  /// Whether the interrupt of TRAP packet `n` of a queue is lost.
  bool loses_interrupt(std::uint64_t n);
  /// By which factor transfers take longer.
  std::uint64_t slowness() const { return slowness_; }

  void queue_destroyed(std::uint32_t queue);

 private:
  enum class Kind { stall, doorbell, lost, delayed, interrupt };
  struct Entry {
    Kind kind;
    std::uint64_t count;
    std::uint64_t nanoseconds;
    std::unique_ptr<std::atomic<bool>> struck = std::make_unique<std::atomic<bool>>(false);
  };

  const Entry* strike(Kind kind, std::uint64_t count);

  std::vector<Entry> entries_;
  std::uint64_t slowness_ = 1;
  std::atomic<std::uint64_t> stalled_by_{0};  // queue id + 1; 0 = the engine fetches
};

}  // namespace cortado::device::soft
