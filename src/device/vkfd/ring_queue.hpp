// A queue that a program made: its ring, its pointers and its doorbell are the program's memory.
#pragma once

#include <cstdint>

#include "device/soft/engine_queue.hpp"

namespace cortado::device::vkfd {

/// Where a program keeps its queue, as pointers of this process.
struct RingPlace {
  std::byte* ring = nullptr;
  std::uint64_t ring_bytes = 0;
  std::uint64_t* read_pointer = nullptr;
  std::uint64_t* write_pointer = nullptr;
  std::uint64_t* doorbell = nullptr;
};

class RingQueue {
 public:
  RingQueue(const soft::EngineContext& context, RankId gpu, EngineId engine, std::uint32_t id, const RingPlace& place,
            soft::EngineInjection* injection);

  soft::EngineQueue& engine() { return engine_; }
  const SdmaQueue& handle() { return engine_.handle(); }

  /// Whether the program has rung since the last call. One caller at a time.
  bool rang() const;
  /// What the doorbell says now: a ring offset.
  std::uint64_t doorbell() const;
  /// Tells the engine of it; false if it learns nothing, since the doorbell got lost.
  bool take_doorbell(std::uint64_t offset);

  std::uint32_t slot = 0;       ///< of whoever runs it
  std::uint64_t ring_time = 0;  ///< nanoseconds: when the doorbell was seen first; 0: not
  bool active = true;           ///< false: the program has stopped it, or there is no such engine in silicon
  bool present = true;          ///< the engine is in silicon

 private:
  const RingPlace place_;
  std::uint64_t seen_ = 0;
  soft::EngineQueue engine_;
};

}  // namespace cortado::device::vkfd
