#include "device/vkfd/ring_queue.hpp"

namespace cortado::device::vkfd {

RingQueue::RingQueue(const soft::EngineContext& context, RankId gpu, EngineId engine, std::uint32_t id,
                     const RingPlace& place, soft::EngineInjection* injection)
    : ProgramQueue(place.doorbell, 0),
      place_(place),
      engine_(context, {gpu, engine, Bytes{place.ring_bytes}}, id, soft::Pages{nullptr, 0, place.ring}, injection,
              place.read_pointer) {
  std::atomic_ref(*place.read_pointer).store(0);
  std::atomic_ref(*place.write_pointer).store(0);
}

bool RingQueue::tell(std::uint64_t value) {
  // The program stored ring, write pointer and doorbell in this order; the doorbell is the limit.
  std::atomic_ref(*place_.write_pointer).load(std::memory_order_acquire);
  return engine_.write_doorbell(value);
}

}  // namespace cortado::device::vkfd
