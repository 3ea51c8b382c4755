#include "device/executor/device_resources.hpp"

namespace cortado::device {

DeviceResources::~DeviceResources() {
  for (ComputeQueue* queue : compute_queues_) driver_.destroy(queue);
  for (SdmaQueue* queue : sdma_queues_) driver_.destroy(queue);
  for (const TrackerHandle tracker : trackers_) driver_.destroy(tracker);
  for (const Memory& memory : memories_) driver_.release(memory);
  for (const Memory& memory : callers_) driver_.unmap_host(memory);
}

Status DeviceResources::map_host(const Memory& memory) {
  for (const Memory& known : callers_) {
    if (known.data == memory.data && known.bytes == memory.bytes) return {};
  }
  CORTADO_RETURN_IF_ERROR(driver_.map_host(memory));
  callers_.push_back(memory);
  return {};
}

void DeviceResources::unmap_host_except(const std::function<bool(const std::byte*)>& keep) {
  std::erase_if(callers_, [&](const Memory& memory) {
    if (keep(memory.data)) return false;
    driver_.unmap_host(memory);
    return true;
  });
}

Result<Memory> DeviceResources::allocate(const MemoryRequest& request) {
  CORTADO_ASSIGN_OR_RETURN(const Memory memory, driver_.allocate(request));
  memories_.push_back(memory);
  return memory;
}

Result<SdmaQueue*> DeviceResources::create_sdma_queue(const SdmaQueueRequest& request) {
  CORTADO_ASSIGN_OR_RETURN(SdmaQueue* const queue, driver_.create_sdma_queue(request));
  sdma_queues_.push_back(queue);
  return queue;
}

Result<ComputeQueue*> DeviceResources::create_compute_queue(RankId gpu, std::int32_t priority) {
  CORTADO_ASSIGN_OR_RETURN(ComputeQueue* const queue, driver_.create_compute_queue(gpu, priority));
  compute_queues_.push_back(queue);
  return queue;
}

Result<TrackerHandle> DeviceResources::create_tracker(const TrackerRequest& request) {
  CORTADO_ASSIGN_OR_RETURN(const TrackerHandle tracker, driver_.create_tracker(request));
  trackers_.push_back(tracker);
  return tracker;
}

}  // namespace cortado::device
