// A stand-in for libhsakmt, for tests: one CPU node and a number of GPU nodes, memory of the host, and a record of what
// was asked of it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "device/kfd/thunk.hpp"

namespace cortado::device {

class FakeThunk {
 public:
  // What the node is like; set before functions().
  std::uint32_t gpus = 2;
  std::uint32_t host_engines = 2;
  std::uint32_t peer_engines = 4;
  std::uint32_t queues_per_engine = 2;
  HsaVersionInfo version{1, 17};
  bool has_queue_ext = true;
  bool split_addresses = false;  ///< GPUs see memory at another address than the host
  std::string name = "AMD Instinct MI300X";
  /// Calls that fail, by the name without "hsaKmt": status and errno.
  std::map<std::string, std::pair<HSAKMT_STATUS, int>> failing;
  std::uint64_t gpu_ticks_per_second = 100'000'000;
  std::vector<HsaMemoryAccessFault> memory_exceptions;  ///< of these, the first one is reported

  // What was asked of it.
  struct Allocation {
    HSAuint32 node = 0;
    std::uint64_t bytes = 0;
    HsaMemFlags flags{};
    std::vector<HSAuint32> mapped_to;
    std::unique_ptr<std::byte[], void (*)(std::byte*)> memory{nullptr, [](std::byte*) {}};
  };
  struct QueueCall {
    HSAuint32 node = 0;
    HSA_QUEUE_TYPE type{};
    HSAuint32 percentage = 0;
    HSA_QUEUE_PRIORITY priority{};
    std::int64_t engine = -1;  ///< -1: made without an engine number
    void* ring = nullptr;
    std::uint64_t ring_bytes = 0;
  };
  struct Queue {
    std::uint64_t write_pointer = 0;
    std::uint64_t read_pointer = 0;
    std::uint64_t doorbell = 0;
  };
  int opens = 0;
  int closes = 0;
  int releases = 0;
  std::map<void*, Allocation> allocations;  ///< live ones
  std::vector<QueueCall> queue_calls;
  std::map<HSA_QUEUEID, std::unique_ptr<Queue>> queues;  ///< live ones
  std::map<HSA_EVENTID, std::unique_ptr<HsaEvent>> events;
  std::vector<HSAuint32> waits;  ///< milliseconds of the waits on signal events

  /// Node of GPU i: the CPU is node 0.
  static HSAuint32 node_of(std::uint32_t gpu) { return gpu + 1; }
  /// The mask the links carry: engine 2 + (src + dst) modulo the engines for peers.
  std::uint32_t mask(std::uint32_t src, std::uint32_t dst) const {
    return 1U << (host_engines + (src + dst) % peer_engines);
  }

  /// The fake outlives whoever uses the table.
  ThunkFunctions functions();

 private:
  /// Sets errno and gives the status that the call is to have.
  HSAKMT_STATUS outcome(const std::string& call) const;
  HSAKMT_STATUS node_properties(HSAuint32 node, HsaNodeProperties* out) const;
  HSAKMT_STATUS links(HSAuint32 node, HSAuint32 count, HsaIoLinkProperties* out) const;
  HSAKMT_STATUS allocate(HSAuint32 node, HSAuint64 bytes, HsaMemFlags flags, void** address);
  HSAKMT_STATUS map(void* address, HSAuint64* gpu_address, HSAuint64 count, const HSAuint32* nodes);
  HSAKMT_STATUS make_queue(const QueueCall& call, HsaQueueResource* resource);
  HSAKMT_STATUS make_event(const HsaEventDescriptor* descriptor, HsaEvent** event);
  HSAKMT_STATUS wait(HsaEvent* event, HSAuint32 milliseconds);
  HSAKMT_STATUS clock(HsaClockCounters* counters);
  HSA_QUEUEID next_queue_ = 100;
  HSA_EVENTID next_event_ = 7;
  std::uint64_t system_clock_ = 0;  // nanoseconds; every reading is 10 ms later
  std::uint64_t mailbox_ = 0;
};

}  // namespace cortado::device
