#include "device/executor/device_resources.hpp"

namespace cortado::device {

DeviceResources::~DeviceResources() {
  for (ComputeQueue* queue : compute_queues_) driver_.destroy(queue);
  for (SdmaQueue* queue : sdma_queues_) driver_.destroy(queue);
  for (const TrackerHandle tracker : trackers_) driver_.destroy(tracker);
  for (const Memory& memory : memories_) driver_.release(memory);
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
