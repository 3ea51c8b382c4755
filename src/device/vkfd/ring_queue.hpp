// Queues created by a program: their rings, pointers and doorbells are in the program's memory.
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

/// The view of code that watches doorbells and runs queues.
class ProgramQueue {
 public:
  /// The doorbell is set to a value that the program does not write first; a previous queue may have left something
  /// there.
  ProgramQueue(std::uint64_t* doorbell, std::uint64_t silent) : doorbell_(doorbell), seen_(silent) {
    std::atomic_ref(*doorbell_).store(silent);
  }
  ProgramQueue(const ProgramQueue&) = delete;
  ProgramQueue& operator=(const ProgramQueue&) = delete;
  virtual ~ProgramQueue() = default;

  virtual soft::Runnable& runnable() = 0;
  /// Null if it does not belong to a DMA engine: it is then not observed.
  virtual const SdmaQueue* handle() = 0;

  /// Whether the program has rung since the last take_doorbell(). One caller at a time.
  bool rang() const { return doorbell() != seen_; }
  /// The current value of the doorbell.
  std::uint64_t doorbell() const { return std::atomic_ref(*doorbell_).load(std::memory_order_acquire); }
  /// Passes it on to whatever executes the queue; false if the doorbell was lost on the way.
  bool take_doorbell(std::uint64_t value) {
    seen_ = value;
    return tell(value);
  }

  std::uint32_t slot = 0;       ///< of its runner
  std::uint64_t ring_time = 0;  ///< nanoseconds: when the doorbell was first seen; 0: not yet
  bool active = true;           ///< false: the program has stopped it, or there is no such engine in silicon
  bool present = true;          ///< the engine is in silicon

 private:
  virtual bool tell(std::uint64_t value) = 0;

  std::uint64_t* const doorbell_;
  std::uint64_t seen_;
};

/// A queue of a DMA engine. The doorbell gives the ring offset up to which there are packets.
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
