#include "device/kfd/testing/fake_thunk.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace cortado::device {

HSAKMT_STATUS FakeThunk::outcome(const std::string& call) const {
  const auto found = failing.find(call);
  if (found == failing.end()) return HSAKMT_STATUS_SUCCESS;
  errno = found->second.second;
  return found->second.first;
}

HSAKMT_STATUS FakeThunk::node_properties(HSAuint32 node, HsaNodeProperties* out) const {
  // A newer library fills more than this one's header knows.
  if (has_queue_ext) std::memset(out, 0, sizeof *out + 32);
  if (node == 0) {
    out->NumCPUCores = 64;
    return outcome("GetNodeProperties");
  }
  out->NumFComputeCores = 1216;
  out->NumIOLinks = gpus;  // one to the CPU, one to each other GPU
  out->NumSdmaEngines = host_engines;
  out->NumSdmaXgmiEngines = peer_engines;
  out->NumSdmaQueuesPerEngine = static_cast<HSAuint8>(queues_per_engine);
  std::copy(name.begin(), name.end(), out->MarketingName);
  std::memcpy(out->AMDName, "ip discovery", 12);
  return outcome("GetNodeProperties");
}

HSAKMT_STATUS FakeThunk::links(HSAuint32 node, HSAuint32 count, HsaIoLinkProperties* out) const {
  const std::uint32_t src = node - 1;
  for (HSAuint32 i = 0; i < count; ++i) {
    // Link 0 leads to the CPU; after that the other GPUs in order.
    const std::uint32_t dst = i - 1 < src ? i - 1 : i;
    IoLinkWithMask link{};
    link.before_mask[kLinkNodeTo] = i == 0 ? 0 : node_of(dst);
    link.recommended_engines = i == 0 ? 0x3 : mask(src, dst);
    std::memcpy(reinterpret_cast<IoLinkWithMask*>(out) + i, &link, sizeof link);
  }
  return outcome("GetNodeIoLinkProperties");
}

HSAKMT_STATUS FakeThunk::allocate(HSAuint32 node, HSAuint64 bytes, HsaMemFlags flags, void** address) {
  const HSAKMT_STATUS status = outcome("AllocMemory");
  if (status != HSAKMT_STATUS_SUCCESS) return status;
  if (bytes % 4096 != 0) return HSAKMT_STATUS_INVALID_PARAMETER;
  auto* const memory = static_cast<std::byte*>(std::aligned_alloc(4096, bytes));
  *address = memory;
  allocations[memory] = {node, bytes, flags, {}, {memory, [](std::byte* block) { std::free(block); }}};
  return status;
}

HSAKMT_STATUS FakeThunk::map(void* address, HSAuint64* gpu_address, HSAuint64 count, const HSAuint32* nodes) {
  const HSAKMT_STATUS status = outcome("MapMemoryToGPUNodes");
  if (status == HSAKMT_STATUS_SUCCESS) allocations.at(address).mapped_to.assign(nodes, nodes + count);
  *gpu_address = split_addresses ? 0x1000 : reinterpret_cast<std::uintptr_t>(address);
  return status;
}

HSAKMT_STATUS FakeThunk::make_queue(const QueueCall& call, HsaQueueResource* resource) {
  queue_calls.push_back(call);
  const HSAKMT_STATUS status = outcome("CreateQueue");
  if (status != HSAKMT_STATUS_SUCCESS) return status;
  const HSA_QUEUEID id = next_queue_++;
  Queue& queue = *(queues[id] = std::make_unique<Queue>());
  resource->QueueId = id;
  resource->Queue_write_ptr_aql = &queue.write_pointer;
  resource->Queue_read_ptr_aql = &queue.read_pointer;
  resource->Queue_DoorBell_aql = &queue.doorbell;
  return status;
}

HSAKMT_STATUS FakeThunk::make_event(const HsaEventDescriptor* descriptor, HsaEvent** event) {
  const bool memory = descriptor->EventType == HSA_EVENTTYPE_MEMORY;
  const HSAKMT_STATUS status = outcome(memory ? "CreateMemoryEvent" : "CreateEvent");
  if (status != HSAKMT_STATUS_SUCCESS) return status;
  const HSA_EVENTID id = next_event_++;
  events[id] = std::make_unique<HsaEvent>();
  events[id]->EventId = id;
  events[id]->EventData.EventType = descriptor->EventType;
  events[id]->EventData.HWData2 = reinterpret_cast<std::uintptr_t>(&mailbox_);
  *event = events[id].get();
  return status;
}

HSAKMT_STATUS FakeThunk::wait(HsaEvent* event, HSAuint32 milliseconds) {
  if (event->EventData.EventType == HSA_EVENTTYPE_MEMORY) {
    if (memory_exceptions.empty()) return HSAKMT_STATUS_WAIT_TIMEOUT;
    event->EventData.EventData.MemoryAccessFault = memory_exceptions.front();
    return HSAKMT_STATUS_SUCCESS;
  }
  waits.push_back(milliseconds);
  return outcome("WaitOnEvent");
}

HSAKMT_STATUS FakeThunk::clock(HsaClockCounters* counters) {
  const HSAKMT_STATUS status = outcome("GetClockCounters");
  system_clock_ += 10'000'000;
  counters->SystemClockCounter = system_clock_;
  counters->SystemClockFrequencyHz = 1'000'000'000;
  counters->GPUClockCounter = 5'000 + system_clock_ / 1'000 * gpu_ticks_per_second / 1'000'000;
  return status;
}

ThunkFunctions FakeThunk::functions() {
  ThunkFunctions thunk;
  thunk.open_kfd = [this] {
    const HSAKMT_STATUS status = outcome("OpenKFD");
    if (status == HSAKMT_STATUS_SUCCESS) ++opens;
    return status;
  };
  thunk.close_kfd = [this] { return ++closes, HSAKMT_STATUS_SUCCESS; };
  thunk.get_version = [this](HsaVersionInfo* out) { return *out = version, outcome("GetVersion"); };
  thunk.acquire_system_properties = [this](HsaSystemProperties* out) {
    return out->NumNodes = 1 + gpus, outcome("AcquireSystemProperties");
  };
  thunk.release_system_properties = [this] { return ++releases, HSAKMT_STATUS_SUCCESS; };
  thunk.get_node_properties = [this](HSAuint32 node, HsaNodeProperties* out) { return node_properties(node, out); };
  thunk.get_node_io_link_properties = [this](HSAuint32 node, HSAuint32 count, HsaIoLinkProperties* out) {
    return links(node, count, out);
  };
  thunk.alloc_memory = [this](HSAuint32 node, HSAuint64 bytes, HsaMemFlags flags, void** address) {
    return allocate(node, bytes, flags, address);
  };
  thunk.free_memory = [this](void* address, HSAuint64 bytes) {
    const bool whole = allocations.count(address) == 1 && allocations[address].bytes == bytes;
    return allocations.erase(address), whole ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_PARAMETER;
  };
  thunk.map_memory_to_gpu_nodes = [this](void* address, HSAuint64, HSAuint64* gpu_address, HsaMemMapFlags,
                                         HSAuint64 count,
                                         HSAuint32* nodes) { return map(address, gpu_address, count, nodes); };
  thunk.unmap_memory_to_gpu = [this](void* address) {
    return allocations.at(address).mapped_to.clear(), HSAKMT_STATUS_SUCCESS;
  };
  thunk.create_queue = [this](HSAuint32 node, HSA_QUEUE_TYPE type, HSAuint32 percentage, HSA_QUEUE_PRIORITY priority,
                              void* ring, HSAuint64 bytes, HsaEvent*, HsaQueueResource* resource) {
    return make_queue({node, type, percentage, priority, -1, ring, bytes}, resource);
  };
  if (has_queue_ext) {
    thunk.create_queue_ext = [this](HSAuint32 node, HSA_QUEUE_TYPE type, HSAuint32 percentage,
                                    HSA_QUEUE_PRIORITY priority, HSAuint32 engine, void* ring, HSAuint64 bytes,
                                    HsaEvent*, HsaQueueResource* resource) {
      return make_queue({node, type, percentage, priority, engine, ring, bytes}, resource);
    };
  }
  thunk.destroy_queue = [this](HSA_QUEUEID id) { return queues.erase(id), HSAKMT_STATUS_SUCCESS; };
  thunk.create_event = [this](HsaEventDescriptor* descriptor, bool, bool, HsaEvent** event) {
    return make_event(descriptor, event);
  };
  thunk.destroy_event = [this](HsaEvent* event) { return events.erase(event->EventId), HSAKMT_STATUS_SUCCESS; };
  thunk.wait_on_event = [this](HsaEvent* event, HSAuint32 milliseconds) { return wait(event, milliseconds); };
  thunk.get_clock_counters = [this](HSAuint32, HsaClockCounters* counters) { return clock(counters); };
  return thunk;
}

}  // namespace cortado::device
