// Queues that a program made: their rings, pointers and doorbells are the program's memory.
#pragma once

#include <atomic>
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

/// As whoever looks at doorbells and runs queues sees them.
class ProgramQueue {
 public:
  /// The doorbell gets a value that the program does not write at first; the queue before may have left something.
  ProgramQueue(std::uint64_t* doorbell, std::uint64_t silent) : doorbell_(doorbell), seen_(silent) {
    std::atomic_ref(*doorbell_).store(silent);
  }
  ProgramQueue(const ProgramQueue&) = delete;
  ProgramQueue& operator=(const ProgramQueue&) = delete;
  virtual ~ProgramQueue() = default;

  virtual soft::Runnable& runnable() = 0;
  /// Null if it belongs to no DMA engine: nobody observes it.
  virtual const SdmaQueue* handle() = 0;

  /// Whether the program has rung since the last take_doorbell(). One caller at a time.
  bool rang() const { return doorbell() != seen_; }
  /// What the doorbell says now.
  std::uint64_t doorbell() const { return std::atomic_ref(*doorbell_).load(std::memory_order_acquire); }
  /// Whoever executes the queue is told of it; false if it learns nothing, since the doorbell got lost.
  bool take_doorbell(std::uint64_t value) {
    seen_ = value;
    return tell(value);
  }

  std::uint32_t slot = 0;       ///< of whoever runs it
  std::uint64_t ring_time = 0;  ///< nanoseconds: when the doorbell was seen first; 0: not
  bool active = true;           ///< false: the program has stopped it, or there is no such engine in silicon
  bool present = true;          ///< the engine is in silicon

 private:
  virtual bool tell(std::uint64_t value) = 0;

  std::uint64_t* const doorbell_;
  std::uint64_t seen_;
};

/// Of a DMA engine. The doorbell says up to which ring offset there are packets.
class RingQueue final : public ProgramQueue {
 public:
  RingQueue(const soft::EngineContext& context, RankId gpu, EngineId engine, std::uint32_t id, const RingPlace& place,
            soft::EngineInjection* injection);

  soft::Runnable& runnable() override { return engine_; }
  const SdmaQueue* handle() override { return &engine_.handle(); }

 private:
  bool tell(std::uint64_t value) override;

  const RingPlace place_;
  soft::EngineQueue engine_;
};

}  // namespace cortado::device::vkfd
