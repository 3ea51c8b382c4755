// What a prepared program holds of a driver: memory, trackers and queues, released in the right order whatever
// happened.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "device/driver/driver.hpp"

namespace cortado::device {

class DeviceResources {
 public:
  explicit DeviceResources(Driver& driver) : driver_(driver) {}
  DeviceResources(const DeviceResources&) = delete;
  DeviceResources& operator=(const DeviceResources&) = delete;
  /// Queues first: the memory and trackers of an engine that is stuck must not disappear.
  ~DeviceResources();

  Result<Memory> allocate(const MemoryRequest& request);
  /// Memory of the caller. It stays mapped, so that mapping it again costs only a lookup.
  Status map_host(const Memory& memory);
  /// The number of caller ranges that are mapped; unmap_host_except() unmaps all but those for which `keep` is true.
  std::size_t mapped() const { return callers_.size(); }
  void unmap_host_except(const std::function<bool(const std::byte*)>& keep);
  Result<SdmaQueue*> create_sdma_queue(const SdmaQueueRequest& request);
  Result<ComputeQueue*> create_compute_queue(RankId gpu, std::int32_t priority);
  Result<TrackerHandle> create_tracker(const TrackerRequest& request);

 private:
  Driver& driver_;
  std::vector<Memory> memories_;
  std::vector<Memory> callers_;
  std::vector<TrackerHandle> trackers_;
  std::vector<SdmaQueue*> sdma_queues_;
  std::vector<ComputeQueue*> compute_queues_;
};

}  // namespace cortado::device
