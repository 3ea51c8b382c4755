// A driver for tests that never executes anything.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "device/driver/driver.hpp"

namespace cortado::device::testing {

/// A queue whose engine reads only when the test moves its read pointer; all other parts of a driver are unused
/// here.
class RecordingDriver : public Driver {
 public:
  explicit RecordingDriver(std::uint64_t ring_bytes) : ring_(ring_bytes) {
    queue.ring = ring_.data();
    queue.ring_bytes = ring_bytes;
    queue.write_pointer = &write_pointer;
    queue.read_pointer = &read_pointer;
    queue.doorbell = &doorbell;
    std::fill(ring_.begin(), ring_.end(), std::byte{0xff});
  }

  void ring_doorbell(SdmaQueue&, std::uint64_t write_offset) override { doorbells.push_back(write_offset); }

  const Topology& topology() const override { return node; }
  Result<Memory> allocate(const MemoryRequest&) override { return fail("test", "no memory"); }
  void release(const Memory&) override {}
  Result<SdmaQueue*> create_sdma_queue(const SdmaQueueRequest&) override { return &queue; }
  void destroy(SdmaQueue*) override {}
  Result<ComputeQueue*> create_compute_queue(RankId, std::int32_t) override { return fail("test", "no compute"); }
  void destroy(ComputeQueue*) override {}
  void submit(ComputeQueue&, std::span<const ComputeOp>) override {}
  Result<TrackerHandle> create_tracker(const TrackerRequest&) override { return fail("test", "no trackers"); }
  void destroy(TrackerHandle) override {}
  TrackerState state(TrackerHandle) const override { return {}; }
  TrackerUse tracker_use(RankId) const override { return {}; }
  Result<Event> create_event() override { return fail("test", "no events"); }
  void destroy(const Event&) override {}
  bool wait(const Event&, std::chrono::nanoseconds) override { return false; }
  bool assist() override { return false; }
  std::vector<EngineFault> faults() const override { return {}; }
  QueueState state(const SdmaQueue&) const override { return {}; }
  std::string state(const ComputeQueue&) const override { return {}; }
  DeviceClock clock() const override { return {1, 0}; }

  std::uint32_t dword(std::uint64_t byte_offset) const {
    std::uint32_t value = 0;
    std::memcpy(&value, ring_.data() + byte_offset % ring_.size(), sizeof value);
    return value;
  }

  Topology node;
  SdmaQueue queue;
  std::uint64_t write_pointer = 0;
  std::uint64_t read_pointer = 0;
  std::uint64_t doorbell = 0;
  std::vector<std::uint64_t> doorbells;

 private:
  std::vector<std::byte> ring_;
};

}  // namespace cortado::device::testing
