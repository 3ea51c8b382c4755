// The interface of the Linux driver amdkfd: arguments of the ioctls of /dev/kfd, as bytes. Both sides use it: the kfd
// node, which calls a driver, and the virtual KFD, which is one.
//
// The interface is append-only: numbers never change; structs grow at their end and are passed with their size, and a
// shorter one means zeros. Source: include/uapi/linux/kfd_ioctl.h of Linux; queue type 4 and the engine id are from
// version 1.17.
#pragma once

#include <cstddef>
#include <cstdint>
#include <sys/ioctl.h>

namespace cortado::device::kfd {

inline constexpr std::uint32_t kMajorVersion = 1;
inline constexpr std::uint32_t kVersionWithEngineQueues = 17;

/// ioctl numbers of type 'K'. Match type and number only: the size in a request is chosen by the caller.
enum class Call : std::uint8_t {
  get_version = 0x01,
  create_queue = 0x02,
  destroy_queue = 0x03,
  set_memory_policy = 0x04,
  get_clock_counters = 0x05,
  update_queue = 0x07,
  create_event = 0x08,
  destroy_event = 0x09,
  set_event = 0x0a,
  reset_event = 0x0b,
  wait_events = 0x0c,
  set_scratch_backing = 0x11,
  get_tile_config = 0x12,
  set_trap_handler = 0x13,
  get_apertures = 0x14,
  acquire_vm = 0x15,
  alloc_memory = 0x16,
  free_memory = 0x17,
  map_memory = 0x18,
  unmap_memory = 0x19,
  set_xnack_mode = 0x21,
  available_memory = 0x23,
  runtime_enable = 0x25,
};

inline constexpr std::uint32_t kType = 'K';

/// The ioctl request of a call whose argument is T.
template <class T>
constexpr unsigned long request(Call call) {
  constexpr unsigned long kReadWrite = _IOC_READ | _IOC_WRITE;
  return kReadWrite << _IOC_DIRSHIFT | sizeof(T) << _IOC_SIZESHIFT | kType << _IOC_TYPESHIFT |
         static_cast<unsigned long>(call) << _IOC_NRSHIFT;
}

struct GetVersion {
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
};
static_assert(sizeof(GetVersion) == 8);

// --- Queues ----------------------------------------------------------------------------------------------------------

enum class QueueType : std::uint32_t { compute = 0, sdma = 1, compute_aql = 2, sdma_xgmi = 3, sdma_by_engine = 4 };

inline constexpr std::uint32_t kMostPercent = 100;
inline constexpr std::uint32_t kMostPriority = 15;
inline constexpr std::uint32_t kSmallestRing = 1024;
inline constexpr std::uint64_t kDoorbellPage = 8192;  ///< per process and GPU: 1024 doorbells of 8 bytes

struct CreateQueue {
  std::uint64_t ring_base = 0;
  std::uint64_t write_pointer = 0;
  std::uint64_t read_pointer = 0;
  std::uint64_t doorbell_offset = 0;  ///< out: mmap offset of the GPU's doorbell page, plus the byte within it
  std::uint32_t ring_size = 0;
  std::uint32_t gpu_id = 0;
  std::uint32_t type = 0;
  std::uint32_t percentage = 0;
  std::uint32_t priority = 0;
  std::uint32_t queue_id = 0;  ///< out
  std::uint64_t eop_buffer = 0;
  std::uint64_t eop_buffer_size = 0;
  std::uint64_t context_save = 0;
  std::uint32_t context_save_size = 0;
  std::uint32_t control_stack_size = 0;
  std::uint32_t sdma_engine_id = 0;  ///< since 1.17
  std::uint32_t pad = 0;
};
static_assert(sizeof(CreateQueue) == 96 && offsetof(CreateQueue, sdma_engine_id) == 88);

struct DestroyQueue {
  std::uint32_t queue_id = 0;
  std::uint32_t pad = 0;
};
static_assert(sizeof(DestroyQueue) == 8);

struct UpdateQueue {
  std::uint64_t ring_base = 0;
  std::uint32_t queue_id = 0;
  std::uint32_t ring_size = 0;
  std::uint32_t percentage = 0;
  std::uint32_t priority = 0;
};
static_assert(sizeof(UpdateQueue) == 24);

// --- Memory ----------------------------------------------------------------------------------------------------------

struct Apertures {
  std::uint64_t lds_base = 0;
  std::uint64_t lds_limit = 0;
  std::uint64_t scratch_base = 0;
  std::uint64_t scratch_limit = 0;
  std::uint64_t gpuvm_base = 0;
  std::uint64_t gpuvm_limit = 0;
  std::uint32_t gpu_id = 0;
  std::uint32_t pad = 0;
};
static_assert(sizeof(Apertures) == 56);

struct GetApertures {
  std::uint64_t apertures = 0;  ///< pointer to an array of Apertures
  std::uint32_t nodes = 0;      ///< in: length of the array; out: number of GPUs
  std::uint32_t pad = 0;
};
static_assert(sizeof(GetApertures) == 16);

struct AcquireVm {
  std::uint32_t drm_fd = 0;
  std::uint32_t gpu_id = 0;
};
static_assert(sizeof(AcquireVm) == 8);

inline constexpr std::uint32_t kMemVram = 1U << 0;
inline constexpr std::uint32_t kMemGtt = 1U << 1;
inline constexpr std::uint32_t kMemUserptr = 1U << 2;
inline constexpr std::uint32_t kMemDoorbell = 1U << 3;
inline constexpr std::uint32_t kMemMmioRemap = 1U << 4;
inline constexpr std::uint32_t kMemUncached = 1U << 25;
inline constexpr std::uint32_t kMemCoherent = 1U << 26;
inline constexpr std::uint32_t kMemNoSubstitute = 1U << 28;
inline constexpr std::uint32_t kMemPublic = 1U << 29;
inline constexpr std::uint32_t kMemExecutable = 1U << 30;
inline constexpr std::uint32_t kMemWritable = 1U << 31;

struct AllocMemory {
  std::uint64_t va = 0;
  std::uint64_t size = 0;
  std::uint64_t handle = 0;       ///< out
  std::uint64_t mmap_offset = 0;  ///< in, userptr: the host address; out, others: where the program maps the file
  std::uint32_t gpu_id = 0;
  std::uint32_t flags = 0;
};
static_assert(sizeof(AllocMemory) == 40);

struct FreeMemory {
  std::uint64_t handle = 0;
};
static_assert(sizeof(FreeMemory) == 8);

/// For map_memory and unmap_memory.
struct MapMemory {
  std::uint64_t handle = 0;
  std::uint64_t gpu_ids = 0;  ///< pointer to an array of 32-bit ids
  std::uint32_t gpus = 0;
  std::uint32_t done = 0;  ///< in: where to start; out: how far it got
};
static_assert(sizeof(MapMemory) == 24);

struct SetMemoryPolicy {
  std::uint64_t alternate_base = 0;
  std::uint64_t alternate_size = 0;
  std::uint32_t gpu_id = 0;
  std::uint32_t default_policy = 0;
  std::uint32_t alternate_policy = 0;
  std::uint32_t pad = 0;
};
static_assert(sizeof(SetMemoryPolicy) == 32);

struct AvailableMemory {
  std::uint64_t available = 0;
  std::uint32_t gpu_id = 0;
  std::uint32_t pad = 0;
};
static_assert(sizeof(AvailableMemory) == 16);

// --- Events ----------------------------------------------------------------------------------------------------------

enum class EventType : std::uint32_t { signal = 0, hardware_exception = 3, memory = 8 };

inline constexpr std::uint32_t kMostSignals = 4096;  ///< also the slots of the event page, 8 bytes each
inline constexpr std::uint32_t kForever = 0xffffffff;

struct CreateEvent {
  std::uint64_t page_offset = 0;  ///< in, first call: handle of the event page; out, signals: not 0
  std::uint32_t trigger_data = 0;
  std::uint32_t type = 0;
  std::uint32_t auto_reset = 0;
  std::uint32_t node_id = 0;
  std::uint32_t event_id = 0;
  std::uint32_t slot = 0;
};
static_assert(sizeof(CreateEvent) == 32);

/// For destroy_event, set_event and reset_event.
struct EventId {
  std::uint32_t event_id = 0;
  std::uint32_t pad = 0;
};
static_assert(sizeof(EventId) == 8);

struct MemoryException {
  std::uint32_t not_present = 0;
  std::uint32_t read_only = 0;
  std::uint32_t no_execute = 0;
  std::uint32_t imprecise = 0;
  std::uint64_t va = 0;
  std::uint32_t gpu_id = 0;
  std::uint32_t error_type = 0;
};
static_assert(sizeof(MemoryException) == 32);

struct EventData {
  union {
    MemoryException memory{};
    std::uint64_t last_age;  ///< signals; 0: unused. In: the age last seen, out: the age now
  };
  std::uint64_t extension = 0;
  std::uint32_t event_id = 0;
  std::uint32_t pad = 0;
};
static_assert(sizeof(EventData) == 48 && offsetof(EventData, event_id) == 40);

enum class WaitResult : std::uint32_t { complete = 0, timeout = 1, fail = 2 };

struct WaitEvents {
  std::uint64_t events = 0;  ///< pointer to an array of EventData
  std::uint32_t count = 0;
  std::uint32_t all = 0;
  std::uint32_t timeout_ms = 0;
  std::uint32_t result = 0;  ///< out
};
static_assert(sizeof(WaitEvents) == 24);

// --- Others ----------------------------------------------------------------------------------------------------------

struct ClockCounters {
  std::uint64_t gpu = 0;  ///< the clock that TIMESTAMP packets record
  std::uint64_t cpu = 0;
  std::uint64_t system = 0;
  std::uint64_t system_frequency = 0;
  std::uint32_t gpu_id = 0;
  std::uint32_t pad = 0;
};
static_assert(sizeof(ClockCounters) == 40);

struct SetScratchBacking {
  std::uint64_t va = 0;
  std::uint32_t gpu_id = 0;
  std::uint32_t pad = 0;
};
static_assert(sizeof(SetScratchBacking) == 16);

struct TileConfig {
  std::uint64_t tiles = 0;
  std::uint64_t macro_tiles = 0;
  std::uint32_t tile_count = 0;
  std::uint32_t macro_tile_count = 0;
  std::uint32_t gpu_id = 0;
  std::uint32_t gb_addr_config = 0;
  std::uint32_t banks = 0;
  std::uint32_t ranks = 0;
};
static_assert(sizeof(TileConfig) == 40);

struct SetTrapHandler {
  std::uint64_t tba = 0;
  std::uint64_t tma = 0;
  std::uint32_t gpu_id = 0;
  std::uint32_t pad = 0;
};
static_assert(sizeof(SetTrapHandler) == 24);

struct XnackMode {
  std::int32_t enabled = 0;  ///< -1: a query
};
static_assert(sizeof(XnackMode) == 4);

// --- Files -----------------------------------------------------------------------------------------------------------

inline constexpr const char* kDevice = "/dev/kfd";
inline constexpr const char* kRenderNodes = "/dev/dri/renderD";  ///< followed by drm_render_minor of the GPU's node
inline constexpr std::uint32_t kFirstRenderMinor = 128;
inline constexpr const char* kTopology = "/sys/devices/virtual/kfd/kfd/topology";
inline constexpr std::uint32_t kLinkPcie = 2;
inline constexpr std::uint32_t kLinkXgmi = 11;

}  // namespace cortado::device::kfd
