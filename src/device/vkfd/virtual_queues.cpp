// Queues of the virtual driver: those of DMA engines, and compute queues without compute units.
#include <algorithm>
#include <bit>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "device/vkfd/virtual_kfd.hpp"

namespace cortado::device::vkfd {

/// As kernels since 6.12 check it: the ring is one mapping of exactly its size, and each pointer lies in a mapping of
/// one page.
int VirtualKfd::check_queue(const kfd::CreateQueue& request, const Gpu& gpu, RingPlace& place) {
  if (request.percentage > kfd::kMostPercent || request.priority > kfd::kMostPriority) return EINVAL;
  if (!std::has_single_bit(request.ring_size)) return EINVAL;
  const auto pointer = [&](std::uint64_t address) -> std::uint64_t* {
    const auto page = gpu.pages.mapping_at(address & ~(kPage - 1));
    if (!page || page->range.end - page->range.begin != kPage || address % sizeof(std::uint64_t) != 0) return nullptr;
    return reinterpret_cast<std::uint64_t*>(address + page->to_host);
  };
  const auto ring = gpu.pages.mapping_at(request.ring_base);
  const std::uint64_t mapped = std::max<std::uint64_t>(request.ring_size, kPage);
  if (!ring || ring->range.end - ring->range.begin != mapped) return EINVAL;
  place.ring = reinterpret_cast<std::byte*>(request.ring_base + ring->to_host);
  place.ring_bytes = std::max(request.ring_size, kfd::kSmallestRing);
  place.read_pointer = pointer(request.read_pointer);
  place.write_pointer = pointer(request.write_pointer);
  return place.read_pointer != nullptr && place.write_pointer != nullptr ? 0 : EINVAL;
}

soft::EngineInjection* VirtualKfd::injection(std::uint32_t gpu, std::uint32_t engine) {
  auto& entry = injections_[{gpu, engine}];
  if (!entry) entry = std::make_unique<soft::EngineInjection>(options_.faults, RankId{gpu}, EngineId{engine});
  return entry->empty() ? nullptr : entry.get();
}

/// Libraries keep the pointers of a compute queue inside a struct of their own.
int VirtualKfd::check_compute_queue(const kfd::CreateQueue& request, const Gpu& gpu, RingPlace& place) {
  if (request.percentage > kfd::kMostPercent || request.priority > kfd::kMostPriority) return EINVAL;
  if (!std::has_single_bit(request.ring_size) || request.ring_size < aql::kPacketBytes) return EINVAL;
  const auto at = [&](std::uint64_t address, std::uint64_t bytes) -> std::byte* {
    const auto found = gpu.pages.mapping(address, bytes);
    return found ? reinterpret_cast<std::byte*>(address + found->to_host) : nullptr;
  };
  place.ring = at(request.ring_base, request.ring_size);
  place.ring_bytes = request.ring_size;
  place.read_pointer = reinterpret_cast<std::uint64_t*>(at(request.read_pointer, sizeof(std::uint64_t)));
  place.write_pointer = reinterpret_cast<std::uint64_t*>(at(request.write_pointer, sizeof(std::uint64_t)));
  return place.ring != nullptr && place.read_pointer != nullptr && place.write_pointer != nullptr ? 0 : EINVAL;
}

std::unique_ptr<ProgramQueue> VirtualKfd::make_queue(std::uint32_t gpu, const QueueSlots::Slot& slot,
                                                     const RingPlace& place) {
  const std::uint32_t id = next_queue_++;
  AqlHost& host = *this;
  if (slot.compute) return std::make_unique<AqlQueue>(host, gpus_[gpu]->pages, gpu, id, place);
  auto queue = std::make_unique<RingQueue>(*gpus_[gpu]->context, RankId{gpu}, EngineId{slot.engine}, id, place,
                                           injection(gpu, slot.engine));
  const Engine* const engine = machine_.engine(EngineId{slot.engine});
  if (engine == nullptr || !engine->present) {
    queue->active = false;
    queue->present = false;
    options_.log(
        fmt::format("GPU {}: queue {} is on engine {}, which the driver lists and the silicon lacks: it will "
                    "never run",
                    gpu, id, slot.engine));
  }
  return queue;
}

int VirtualKfd::answer(kfd::CreateQueue& request) {
  const std::lock_guard lock(mutex_);
  std::uint32_t index = 0;
  Gpu* const gpu = gpu_of_id(request.gpu_id, &index);
  if (gpu == nullptr) return EINVAL;
  const auto type = static_cast<kfd::QueueType>(request.type);
  const bool compute = type == kfd::QueueType::compute_aql;
  if (!compute && type != kfd::QueueType::sdma && type != kfd::QueueType::sdma_xgmi &&
      type != kfd::QueueType::sdma_by_engine) {
    options_.log(fmt::format("GPU {}: a queue of type {} is refused: there are only DMA engines here, no compute units",
                             index, request.type));
    return EINVAL;
  }
  RingPlace place;
  if (const int error = compute ? check_compute_queue(request, *gpu, place) : check_queue(request, *gpu, place);
      error != 0) {
    options_.log(
        fmt::format("GPU {}: a queue is refused: the ring must be one mapping of {} bytes at {:#x}, and its "
                    "pointers must lie in mapped pages of their own",
                    index, request.ring_size, request.ring_base));
    return error;
  }
  const auto slot = gpu->slots.take(type, request.sdma_engine_id);
  if (!slot) {
    options_.log(fmt::format("GPU {}: a queue of type {} for engine {} is refused: {}", index, request.type,
                             request.sdma_engine_id, slot.error() == EINVAL ? "no such engine" : "no free slot"));
    return slot.error();
  }
  place.doorbell = reinterpret_cast<std::uint64_t*>(gpu->doorbells) + slot->doorbell;
  request.queue_id = next_queue_;
  Queue queue{index, *slot, make_queue(index, *slot, place)};
  runner_.attach(*queue.ring);
  queues_.emplace(request.queue_id, std::move(queue));
  request.doorbell_offset = doorbell_offset(index) + slot->doorbell * sizeof(std::uint64_t);
  return 0;
}

int VirtualKfd::answer(kfd::DestroyQueue& request) {
  const std::lock_guard lock(mutex_);
  const auto found = queues_.find(request.queue_id);
  if (found == queues_.end()) return EINVAL;
  runner_.detach(*found->second.ring);
  if (const SdmaQueue* const handle = found->second.ring->handle()) observer_->queue_gone(*handle);
  gpus_[found->second.gpu]->slots.give_back(found->second.slot);
  queues_.erase(found);
  return 0;
}

int VirtualKfd::answer(kfd::UpdateQueue& request) {
  const std::lock_guard lock(mutex_);
  const auto found = queues_.find(request.queue_id);
  if (found == queues_.end() || request.percentage > kfd::kMostPercent || request.priority > kfd::kMostPriority) {
    return EINVAL;
  }
  ProgramQueue& ring = *found->second.ring;
  runner_.exclusively(ring, [&] { ring.active = ring.present && request.ring_base != 0 && request.percentage != 0; });
  runner_.wake();
  return 0;
}

// --- What compute queues ask for -------------------------------------------------------------------------------------

void VirtualKfd::refused(std::uint32_t gpu, std::uint32_t queue, std::uint64_t packet, const std::string& why) {
  options_.refuse(
      fmt::format("GPU {} compute queue {}: packet {} is {}: there are only DMA engines here, no compute units, so the "
                  "program is stuck",
                  gpu, queue, packet, why));
}

void VirtualKfd::bad_address(std::uint32_t gpu, std::uint32_t queue, std::uint64_t packet, std::uint64_t address) {
  options_.log(fmt::format("GPU {} compute queue {}: packet {}: {:#x} is not inside one allocation", gpu, queue, packet,
                           address));
  raise_exception(gpu, address);
}

void VirtualKfd::passed(std::uint32_t queue, const std::vector<std::uint64_t>& seen, std::uint64_t written) {
  observer_->barrier(queue, seen, written);
}

}  // namespace cortado::device::vkfd
