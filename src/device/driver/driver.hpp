// The driver seam: what a GPU driver provides, and nothing more. The embedded node (soft) and real GPUs (kfd) implement
// it and receive the same packet bytes; the executor above reaches both only through this interface.
//
// Addresses in packets are plain 64-bit virtual addresses, valid for every engine that the memory is mapped to and
// equal to the host pointer of the same byte.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/result.hpp"

#include "device/driver/compute.hpp"

namespace cortado::device {

// --- Topology --------------------------------------------------------------------------------------------------------

struct GpuInfo {
  std::string name;  ///< "MI300X" or "embedded GPU 3"
  std::vector<Engine> engines;
  std::uint32_t queues_per_engine = 0;
};

struct Topology {
  std::string node;  ///< one line for people: "embedded node: 8 GPUs of mi300x-8, 2 threads"
  std::vector<GpuInfo> gpus;
  /// recommended[src][dst] = bit mask of the engines of GPU src that the driver recommends for copies to GPU dst; 0 =
  /// any.
  std::vector<std::vector<std::uint32_t>> recommended;
  bool near_memory_compute = false;        ///< accepts the private add-copy packet
  bool compute = false;                    ///< can run compute queues
  std::optional<TrackerLimits> tracker{};  ///< of the memory of each GPU; none: no trackers
  Features features{};                     ///< packets and doorbells beyond those of real engines
};

// --- Memory ----------------------------------------------------------------------------------------------------------

struct MemoryRequest {
  std::optional<RankId> home;  ///< the GPU whose memory it is; none = host memory
  Bytes bytes;
  Bytes alignment{4096};
};

/// Memory mapped to the host and to all GPUs. Owned by the driver until release().
struct Memory {
  std::byte* data = nullptr;
  Bytes bytes;
  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(data); }
};

// --- Queues ----------------------------------------------------------------------------------------------------------

/// An SDMA queue as its owner sees it: a ring and three 64-bit words. All positions are monotonic byte offsets; the
/// place in the ring is the offset modulo ring bytes. Access the words through std::atomic_ref.
struct SdmaQueue {
  RankId gpu;
  EngineId engine;
  std::uint32_t id = 0;  ///< unique within the driver
  std::byte* ring = nullptr;
  std::uint64_t ring_bytes = 0;
  std::uint64_t* write_pointer = nullptr;
  std::uint64_t* read_pointer = nullptr;
  std::uint64_t* doorbell = nullptr;
};

struct SdmaQueueRequest {
  RankId gpu;
  EngineId engine;
  Bytes ring_bytes;
};

/// A compute queue: work is submitted as operations with resolved addresses (compute.hpp), which run in order.
struct ComputeQueue {
  RankId gpu;
  std::uint32_t id = 0;  ///< distinct from those of SdmaQueues of the driver
};

// --- Trackers --------------------------------------------------------------------------------------------------------

/// Counts updates of memory and raises a word (program.hpp, rule 7). Updates are the stores of a GEMM with an output
/// map and COPY packets, with or without add; each has its own element type.
struct TrackerRequest {
  RankId gpu;                     ///< whose memory it is
  Span2D region;                  ///< within one allocation
  std::uint64_t updates = 1;      ///< updates per byte before the word is raised
  std::uint64_t* word = nullptr;  ///< 64 bits, in memory of the driver
  std::uint64_t value = 1;        ///< added to the word
};

/// A programmed tracker.
struct TrackerHandle {
  std::uint32_t id = 0;  ///< unique within the driver
};

/// Progress of a tracker since it was last raised.
struct TrackerState {
  std::uint64_t bytes = 0;           ///< of its region
  std::uint64_t complete_bytes = 0;  ///< bytes that have received all their updates
  std::uint64_t fewest = 0;          ///< updates received by the byte that has had the fewest
  std::uint64_t updates = 0;         ///< updates that every byte must receive
  std::uint64_t raises = 0;          ///< number of times it was complete
};

/// Entries of the trackers of one GPU. A tracker holds ceil(bytes / granularity) of them from its first update until it
/// is complete.
struct TrackerUse {
  std::uint64_t in_use = 0;
  std::uint64_t peak = 0;  ///< maximum in use since the GPU last had no tracker programmed
};

// --- Faults and state ------------------------------------------------------------------------------------------------

enum class FaultKind { bad_address, misaligned, unknown_packet, ring_overrun, engine_absent, unsupported, tracker };

/// An engine encountered a packet, or a compute queue an operation, that it cannot execute. Its queue is stopped; the
/// others continue.
struct EngineFault {
  FaultKind kind{};
  RankId gpu;
  EngineId engine;                 ///< 0 for a compute queue
  std::uint32_t queue = 0;         ///< SdmaQueue::id or ComputeQueue::id
  std::uint64_t packet_index = 0;  ///< packets or operations that the queue executed before
  std::uint64_t ring_offset = 0;   ///< monotonic byte offset of the packet
  std::uint64_t address = 0;       ///< the offending address, if the fault has one
  std::string message;
};

/// What a queue is doing, for stall reports.
struct QueueState {
  std::uint64_t read_offset = 0;   ///< monotonic byte offset of the packet it is at
  std::uint64_t write_offset = 0;  ///< as last announced by the doorbell
  std::string doing;               ///< "idle", "polling 0x7f.. >= 3, reads 1", "stopped by a fault", "not fetching"
};

struct Event {
  std::uint32_t id = 0;
  std::uint64_t* mailbox = nullptr;  ///< written by FENCE before the TRAP that fires the event
};

/// Counts per second and current value of the clock that TIMESTAMP packets read.
struct DeviceClock {
  std::uint64_t ticks_per_second = 0;
  std::uint64_t now = 0;
};

class Driver {
 public:
  Driver() = default;
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  virtual ~Driver() = default;

  virtual const Topology& topology() const = 0;

  virtual Result<Memory> allocate(const MemoryRequest& request) = 0;
  virtual void release(const Memory& memory) = 0;

  /// Makes memory of this process that the driver did not allocate reachable by all engines, until unmap_host of the
  /// same range; ownership does not change. Ranges may overlap and be mapped several times. Rejected
  /// (device.host_memory) by drivers that cannot do this, and for addresses where nothing is mapped.
  virtual Status map_host(const Memory&) {
    return fail(About::environment, "device.host_memory", "this driver only reaches memory that it allocated",
                "use the embedded node, or memory of the driver");
  }
  virtual void unmap_host(const Memory&) {}

  /// A queue on the given engine. Rejects engines that the GPU does not have and engines without a free queue slot.
  virtual Result<SdmaQueue*> create_sdma_queue(const SdmaQueueRequest& request) = 0;
  virtual void destroy(SdmaQueue* queue) = 0;

  /// Announces packets: release fence, write pointer, release fence, doorbell, both `write_offset`.
  virtual void ring_doorbell(SdmaQueue& queue, std::uint64_t write_offset) = 0;

  /// Compute queues; rejected by a driver whose topology has compute = false.
  virtual Result<ComputeQueue*> create_compute_queue(RankId gpu, std::int32_t priority) = 0;
  virtual void destroy(ComputeQueue* queue) = 0;
  virtual void submit(ComputeQueue& queue, std::span<const ComputeOp> operations) = 0;
  /// To be called before GEMMs are submitted: loads what they need, or reports what is missing.
  virtual Status prepare_products() { return {}; }

  /// Programs a tracker; rejected (device.tracker) by a driver whose topology has none. A tracker that needs more
  /// entries than the GPU has is rejected, and so is one whose bytes are already watched by another.
  virtual Result<TrackerHandle> create_tracker(const TrackerRequest& request) = 0;
  virtual void destroy(TrackerHandle tracker) = 0;
  virtual TrackerState state(TrackerHandle tracker) const = 0;
  virtual TrackerUse tracker_use(RankId gpu) const = 0;

  virtual Result<Event> create_event() = 0;
  virtual void destroy(const Event& event) = 0;
  /// True if the event fired within the time.
  virtual bool wait(const Event& event, std::chrono::nanoseconds timeout) = 0;

  /// Called repeatedly by a host thread that has nothing to do but wait. The embedded node runs engines on the caller's
  /// thread, so that one core is enough; a real node pauses the core. False if there was nothing to do.
  virtual bool assist() = 0;

  virtual std::vector<EngineFault> faults() const = 0;
  virtual QueueState state(const SdmaQueue& queue) const = 0;
  virtual std::string state(const ComputeQueue& queue) const = 0;
  virtual DeviceClock clock() const = 0;
};

}  // namespace cortado::device
