#include "device/vkfd/ring_queue.hpp"

#include <atomic>

namespace cortado::device::vkfd {

RingQueue::RingQueue(const soft::EngineContext& context, RankId gpu, EngineId engine, std::uint32_t id,
                     const RingPlace& place, soft::EngineInjection* injection)
    : place_(place),
      engine_(context, {gpu, engine, Bytes{place.ring_bytes}}, id, soft::Pages{nullptr, 0, place.ring}, injection,
              place.read_pointer) {
  std::atomic_ref(*place.read_pointer).store(0);
  std::atomic_ref(*place.write_pointer).store(0);
  std::atomic_ref(*place.doorbell).store(0);  // the queue before may have left something in it
}

bool RingQueue::rang() const {
  return doorbell() != seen_;
}

std::uint64_t RingQueue::doorbell() const {
  return std::atomic_ref(*place_.doorbell).load(std::memory_order_acquire);
}

bool RingQueue::take_doorbell(std::uint64_t offset) {
  seen_ = offset;
  // The program stored ring, write pointer and doorbell in this order; the doorbell is the limit.
  std::atomic_ref(*place_.write_pointer).load(std::memory_order_acquire);
  return engine_.write_doorbell(seen_);
}

}  // namespace cortado::device::vkfd
