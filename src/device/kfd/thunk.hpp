// The functions of libhsakmt ("the thunk") that the node uses, as a table: filled from the library at run time, or by a
// test from a stand-in. The library is never linked.
//
// Types come from the headers of libhsakmt 5.2.3 (Debian 12). What later libraries add is declared here:
//   - hsaKmtCreateQueueExt and queue type 6: SDMA queues on a given engine (August 2024; needs KFD 1.17);
//   - RecSdmaEngIdMask in the link properties (the same library versions), which makes each link entry four bytes
//   longer.
// Structs that the library fills have only grown at their end, so they are handed over inside larger buffers (Padded).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <hsakmt.h>

#include "cortado/result.hpp"

namespace cortado::device {

/// What to do where there is no AMD GPU, or no library for it.
inline constexpr const char* kUseSoft = "run on the embedded node instead: --on soft";

inline constexpr HSA_QUEUE_TYPE kQueueSdmaByEngineId = static_cast<HSA_QUEUE_TYPE>(6);

using CreateQueueExt = HSAKMT_STATUS(HSAuint32 node, HSA_QUEUE_TYPE type, HSAuint32 percentage,
                                     HSA_QUEUE_PRIORITY priority, HSAuint32 engine, void* ring, HSAuint64 ring_bytes,
                                     HsaEvent* event, HsaQueueResource* resource);

/// Link entry of libraries that have hsaKmtCreateQueueExt.
struct IoLinkWithMask {
  HSAuint32 before_mask[11];      ///< type .. recommended transfer size, as in HsaIoLinkProperties
  HSAuint32 recommended_engines;  ///< bit i: SDMA engine i of the node the link comes from
  HSAuint32 flags;
};
static_assert(sizeof(HsaIoLinkProperties) == 48 && offsetof(HsaIoLinkProperties, NodeTo) == 16);
static_assert(sizeof(IoLinkWithMask) == 52 && offsetof(IoLinkWithMask, recommended_engines) == 44);
inline constexpr std::size_t kLinkNodeTo = 4;  ///< index of NodeTo in before_mask

/// A struct that a newer library may take for a longer one.
template <class T>
union Padded {
  T value;
  std::byte room[sizeof(T) + 1024];
  Padded() : room{} {}
};

struct ThunkFunctions {
  std::function<decltype(hsaKmtOpenKFD)> open_kfd;
  std::function<decltype(hsaKmtCloseKFD)> close_kfd;
  std::function<decltype(hsaKmtGetVersion)> get_version;
  std::function<decltype(hsaKmtAcquireSystemProperties)> acquire_system_properties;
  std::function<decltype(hsaKmtReleaseSystemProperties)> release_system_properties;
  std::function<decltype(hsaKmtGetNodeProperties)> get_node_properties;
  std::function<decltype(hsaKmtGetNodeIoLinkProperties)> get_node_io_link_properties;
  std::function<decltype(hsaKmtAllocMemory)> alloc_memory;
  std::function<decltype(hsaKmtFreeMemory)> free_memory;
  std::function<decltype(hsaKmtMapMemoryToGPUNodes)> map_memory_to_gpu_nodes;
  std::function<decltype(hsaKmtUnmapMemoryToGPU)> unmap_memory_to_gpu;
  std::function<decltype(hsaKmtCreateQueue)> create_queue;
  std::function<CreateQueueExt> create_queue_ext;  ///< empty if the library is too old
  std::function<decltype(hsaKmtDestroyQueue)> destroy_queue;
  std::function<decltype(hsaKmtCreateEvent)> create_event;
  std::function<decltype(hsaKmtDestroyEvent)> destroy_event;
  std::function<decltype(hsaKmtWaitOnEvent)> wait_on_event;
  std::function<decltype(hsaKmtGetClockCounters)> get_clock_counters;
};

/// Loads the first of the libraries that is found. It stays loaded: libhsakmt keeps threads and mappings of its own.
Result<ThunkFunctions> load_thunk(const std::vector<std::string>& names = {"libhsakmt.so.1", "libhsakmt.so"});

}  // namespace cortado::device
