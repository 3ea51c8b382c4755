// What a prepared program holds of a driver: memory, trackers and queues, given back in the right order whatever
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
  /// Queues first: an engine that is stuck must not see its memory or its trackers go.
  ~DeviceResources();

  Result<Memory> allocate(const MemoryRequest& request);
  /// Memory of the caller, which stays mapped: to map the same again costs a look only.
  Status map_host(const Memory& memory);
  /// How many are mapped; and all but those that `keep` says go.
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
