#include "device/kfd/kfd_node.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cmath>
#include <mutex>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "device/kfd/discover.hpp"
#include "device/kfd/kfd.hpp"
#include "device/kfd/memory.hpp"
#include "device/kfd/status.hpp"
#include "device/kfd/thunk.hpp"

namespace cortado::device {
namespace {

constexpr std::uint64_t kSmallestRing = 4096;  // a page, since a ring is a mapping of its own
constexpr std::uint64_t kLargestRing = std::uint64_t{1} << 31;
constexpr std::uint32_t kUnknown = 0xffffffff;

/// Stores the value after everything that was stored before. A release store alone does not order stores to memory that
/// is mapped as write combining on x86.
void store_after_all(std::uint64_t* word, std::uint64_t value) {
#if defined(__x86_64__)
  __builtin_ia32_sfence();
#endif
  std::atomic_ref(*word).store(value, std::memory_order_release);
}

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

struct QueueSlot {
  SdmaQueue queue;
  HSA_QUEUEID handle = 0;
  Memory ring;
};

class KfdNode final : public Driver {
 public:
  explicit KfdNode(ThunkFunctions thunk) : thunk_(std::move(thunk)), memory_(thunk_, discovery_) {}
  ~KfdNode() override;
  Status open();

  const Topology& topology() const override { return discovery_.topology; }
  Result<Memory> allocate(const MemoryRequest& request) override { return memory_.allocate(request); }
  void release(const Memory& memory) override { memory_.release(memory); }
  Result<SdmaQueue*> create_sdma_queue(const SdmaQueueRequest& request) override;
  void destroy(SdmaQueue* queue) override;
  void ring_doorbell(SdmaQueue& queue, std::uint64_t write_offset) override;
  Result<ComputeQueue*> create_compute_queue(RankId gpu, std::int32_t priority) override;
  void destroy(ComputeQueue* queue) override;
  void submit(ComputeQueue& queue, std::span<const ComputeOp> operations) override;
  Result<TrackerHandle> create_tracker(const TrackerRequest& request) override;
  void destroy(TrackerHandle tracker) override;
  TrackerState state(TrackerHandle tracker) const override;
  TrackerUse tracker_use(RankId) const override { return {}; }
  Result<Event> create_event() override;
  void destroy(const Event& event) override;
  bool wait(const Event& event, std::chrono::nanoseconds timeout) override;
  bool assist() override;
  std::vector<EngineFault> faults() const override;
  QueueState state(const SdmaQueue& queue) const override;
  std::string state(const ComputeQueue& queue) const override;
  DeviceClock clock() const override;

 private:
  Result<const Engine*> find_engine(const SdmaQueueRequest& request) const;
  Status check_free_slot(RankId gpu, const Engine& engine) const;
  Status create_on_engine(QueueSlot& slot, const Engine& engine);
  HsaEvent* find_event(const Event& event) const;
  HsaClockCounters counters() const;

  ThunkFunctions thunk_;
  Discovery discovery_;
  KfdMemory memory_;
  bool opened_ = false;
  bool acquired_ = false;
  HsaClockCounters first_counters_{};
  mutable std::mutex mutex_;  // guards everything below
  std::uint32_t next_queue_ = 0;
  std::vector<std::unique_ptr<QueueSlot>> queues_;
  std::vector<HsaEvent*> events_;
  HsaEvent* memory_exception_ = nullptr;  // none if the driver has no such event
  mutable std::vector<EngineFault> faults_;
};

Status KfdNode::open() {
  const Outcome channel = call(thunk_.open_kfd);
  if (!channel.ok() && channel.status != HSAKMT_STATUS_KERNEL_ALREADY_OPENED) {
    return fail(thunk_error("device.no_gpu", "hsaKmtOpenKFD of /dev/kfd", channel,
                            channel.errno_value == EACCES
                                ? "join the groups render and video, or run on the embedded node: --on soft"
                                : kUseSoft));
  }
  opened_ = true;
  HsaSystemProperties system{};
  if (const Outcome got = call(thunk_.acquire_system_properties, &system); !got.ok()) {
    return fail(thunk_error("device.topology", "hsaKmtAcquireSystemProperties", got, kUseSoft));
  }
  acquired_ = true;
  CORTADO_ASSIGN_OR_RETURN(discovery_, discover(thunk_, system.NumNodes));

  HsaEventDescriptor descriptor{};
  descriptor.EventType = HSA_EVENTTYPE_MEMORY;
  if (thunk_.create_event(&descriptor, true, false, &memory_exception_) != HSAKMT_STATUS_SUCCESS) {
    memory_exception_ = nullptr;
  }
  first_counters_ = counters();
  return {};
}

KfdNode::~KfdNode() {
  for (const auto& slot : queues_) {
    thunk_.destroy_queue(slot->handle);
    memory_.release(slot->ring);
  }
  for (HsaEvent* event : events_) thunk_.destroy_event(event);
  if (memory_exception_ != nullptr) thunk_.destroy_event(memory_exception_);
  memory_.release_all();
  if (acquired_) thunk_.release_system_properties();
  if (opened_) thunk_.close_kfd();
}

// --- Queues ----------------------------------------------------------------------------------------------------------

Result<const Engine*> KfdNode::find_engine(const SdmaQueueRequest& request) const {
  const auto& gpus = discovery_.topology.gpus;
  if (request.gpu.value >= gpus.size()) {
    return fail("device.gpus",
                fmt::format("queue on GPU {} asked for, the node has {}", request.gpu.value, gpus.size()));
  }
  const auto& engines = gpus[request.gpu.value].engines;
  const auto engine =
      std::find_if(engines.begin(), engines.end(), [&](const Engine& each) { return each.id == request.engine; });
  if (engine == engines.end()) {
    return fail("device.engine", fmt::format("GPU {} has no engine {}: it has {} engines, counted from 0",
                                             request.gpu.value, request.engine.value, engines.size()));
  }
  return &*engine;
}

/// Slots that this process holds; the kernel alone knows those of other processes.
Status KfdNode::check_free_slot(RankId gpu, const Engine& engine) const {
  const GpuInfo& info = discovery_.topology.gpus[gpu.value];
  const auto same_class = [&](const Engine& other) { return other.kind == engine.kind; };
  // Where the kernel chooses the engine, a class of engines shares its slots.
  const auto engines =
      discovery_.queues_by_engine ? 1 : std::count_if(info.engines.begin(), info.engines.end(), same_class);
  const auto used = std::count_if(queues_.begin(), queues_.end(), [&](const auto& slot) {
    if (slot->queue.gpu != gpu) return false;
    return discovery_.queues_by_engine ? slot->queue.engine == engine.id
                                       : same_class(info.engines[slot->queue.engine.value]);
  });
  if (used < engines * static_cast<std::ptrdiff_t>(info.queues_per_engine)) return {};
  return fail(
      "device.queue",
      fmt::format("GPU {} has no free queue slot on engine {}: all {} are in use", gpu.value, engine.id.value, used),
      "put more commands on one queue, or use another engine");
}

Status KfdNode::create_on_engine(QueueSlot& slot, const Engine& engine) {
  const HSAuint32 node = discovery_.gpu_nodes[slot.queue.gpu.value];
  const HSAuint64 bytes = slot.queue.ring_bytes;
  constexpr HSAuint32 kWholeQueue = 100;  // percent
  Padded<HsaQueueResource> resource;
  Outcome got;
  if (discovery_.queues_by_engine) {
    got = call(thunk_.create_queue_ext, node, kQueueSdmaByEngineId, kWholeQueue, HSA_QUEUE_PRIORITY_MAXIMUM,
               engine.id.value, slot.ring.data, bytes, nullptr, &resource.value);
  } else {
    const HSA_QUEUE_TYPE type = engine.kind == EngineClass::host ? HSA_QUEUE_SDMA : HSA_QUEUE_SDMA_XGMI;
    got = call(thunk_.create_queue, node, type, kWholeQueue, HSA_QUEUE_PRIORITY_MAXIMUM, slot.ring.data, bytes, nullptr,
               &resource.value);
  }
  if (!got.ok()) {
    const bool full = got.status == HSAKMT_STATUS_NO_MEMORY || got.errno_value == ENOMEM;
    return fail(thunk_error("device.queue",
                            fmt::format("{} on engine {} of GPU {} (node {})",
                                        discovery_.queues_by_engine ? "hsaKmtCreateQueueExt" : "hsaKmtCreateQueue",
                                        engine.id.value, slot.queue.gpu.value, node),
                            got, full ? "no free queue slot: other processes hold them; use another engine" : ""));
  }
  slot.handle = resource.value.QueueId;
  slot.queue.write_pointer = resource.value.Queue_write_ptr_aql;
  slot.queue.read_pointer = resource.value.Queue_read_ptr_aql;
  slot.queue.doorbell = resource.value.Queue_DoorBell_aql;
  return {};
}

Result<SdmaQueue*> KfdNode::create_sdma_queue(const SdmaQueueRequest& request) {
  CORTADO_ASSIGN_OR_RETURN(const Engine* const engine, find_engine(request));
  const std::uint64_t bytes = request.ring_bytes.value;
  if (!std::has_single_bit(bytes) || bytes < kSmallestRing || bytes > kLargestRing) {
    return fail("device.queue", fmt::format("a ring of {} bytes asked for", bytes),
                "a ring is a power of two from 4 KiB to 2 GiB");
  }
  const std::lock_guard lock(mutex_);
  CORTADO_RETURN_IF_ERROR(check_free_slot(request.gpu, *engine));
  auto slot = std::make_unique<QueueSlot>();
  CORTADO_ASSIGN_OR_RETURN(slot->ring, memory_.allocate_ring(bytes));
  slot->queue.gpu = request.gpu;
  slot->queue.engine = request.engine;
  slot->queue.ring = slot->ring.data;
  slot->queue.ring_bytes = bytes;
  if (auto created = create_on_engine(*slot, *engine); !created) {
    memory_.release(slot->ring);
    return fail(std::move(created).error());
  }
  slot->queue.id = next_queue_++;
  queues_.push_back(std::move(slot));
  return &queues_.back()->queue;
}

void KfdNode::destroy(SdmaQueue* queue) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(queues_.begin(), queues_.end(), [&](const auto& slot) { return &slot->queue == queue; });
  CORTADO_CHECK(found != queues_.end(), "a destroyed queue was created by this driver and not destroyed before");
  thunk_.destroy_queue((*found)->handle);
  memory_.release((*found)->ring);
  queues_.erase(found);
}

void KfdNode::ring_doorbell(SdmaQueue& queue, std::uint64_t write_offset) {
  store_after_all(queue.write_pointer, write_offset);
  store_after_all(queue.doorbell, write_offset);
}

QueueState KfdNode::state(const SdmaQueue& queue) const {
  QueueState state;
  state.read_offset = std::atomic_ref(*queue.read_pointer).load(std::memory_order_acquire);
  state.write_offset = std::atomic_ref(*queue.write_pointer).load(std::memory_order_acquire);
  state.doing = state.read_offset == state.write_offset
                    ? "idle"
                    : fmt::format("{} bytes of packets not yet read", state.write_offset - state.read_offset);
  return state;
}

// --- Compute queues: none --------------------------------------------------------------------------------------------

Result<ComputeQueue*> KfdNode::create_compute_queue(RankId gpu, std::int32_t) {
  return fail(About::machine, "device.compute",
              fmt::format("no compute queue on GPU {}: the real GPUs run DMA queues only, no kernels", gpu.value),
              "take a plan without kernels, or run on the embedded node: --on soft");
}

void KfdNode::destroy(ComputeQueue*) {
  CORTADO_CHECK(false, "this node has no compute queues");
}

void KfdNode::submit(ComputeQueue&, std::span<const ComputeOp>) {
  CORTADO_CHECK(false, "this node has no compute queues");
}

std::string KfdNode::state(const ComputeQueue&) const {
  return "this node has no compute queues";
}

// --- Trackers: none --------------------------------------------------------------------------------------------------

Result<TrackerHandle> KfdNode::create_tracker(const TrackerRequest& request) {
  return fail("device.tracker",
              fmt::format("no tracker on GPU {}: no hardware exists that counts updates of memory", request.gpu.value),
              "run it on the embedded node: --on soft");
}

void KfdNode::destroy(TrackerHandle) {
  CORTADO_CHECK(false, "this node has no trackers");
}

TrackerState KfdNode::state(TrackerHandle) const {
  CORTADO_CHECK(false, "this node has no trackers");
}

// --- Events, faults, waiting, time -----------------------------------------------------------------------------------

Result<Event> KfdNode::create_event() {
  HsaEventDescriptor descriptor{};
  descriptor.EventType = HSA_EVENTTYPE_SIGNAL;
  descriptor.NodeId = discovery_.gpu_nodes.front();
  HsaEvent* event = nullptr;
  if (const Outcome got = call(thunk_.create_event, &descriptor, false, false, &event); !got.ok()) {
    return fail(thunk_error("device.event", "hsaKmtCreateEvent", got));
  }
  const std::lock_guard lock(mutex_);
  events_.push_back(event);
  // HWData2 is the address a FENCE writes the event id to, before the TRAP with that id.
  return Event{event->EventId, reinterpret_cast<std::uint64_t*>(event->EventData.HWData2)};
}

HsaEvent* KfdNode::find_event(const Event& event) const {
  const auto found =
      std::find_if(events_.begin(), events_.end(), [&](const HsaEvent* each) { return each->EventId == event.id; });
  CORTADO_CHECK(found != events_.end(), "an event was created by this driver and not destroyed before");
  return *found;
}

void KfdNode::destroy(const Event& event) {
  const std::lock_guard lock(mutex_);
  HsaEvent* const handle = find_event(event);
  thunk_.destroy_event(handle);
  std::erase(events_, handle);
}

bool KfdNode::wait(const Event& event, std::chrono::nanoseconds timeout) {
  HsaEvent* handle = nullptr;
  {
    const std::lock_guard lock(mutex_);
    handle = find_event(event);
  }
  const auto whole = std::chrono::ceil<std::chrono::milliseconds>(timeout).count();
  // The largest 32-bit number means for ever; one day is long enough for any caller.
  constexpr std::int64_t kDay = 86'400'000;
  const auto milliseconds = static_cast<HSAuint32>(std::clamp<std::int64_t>(whole, 0, kDay));
  return thunk_.wait_on_event(handle, milliseconds) == HSAKMT_STATUS_SUCCESS;
}

bool KfdNode::assist() {
  constexpr std::uint32_t kPausesPerYield = 256;
  thread_local std::uint32_t pauses = 0;
  if (++pauses % kPausesPerYield == 0) {
    std::this_thread::yield();
  } else {
    pause();
  }
  return false;
}

/// A memory exception ends all queues of the process, so one is all there is to report. The driver tells GPU and
/// address; which engine and queue it was, it does not.
std::vector<EngineFault> KfdNode::faults() const {
  const std::lock_guard lock(mutex_);
  if (!faults_.empty() || memory_exception_ == nullptr) return faults_;
  if (thunk_.wait_on_event(memory_exception_, 0) != HSAKMT_STATUS_SUCCESS) return faults_;
  const HsaMemoryAccessFault& what = memory_exception_->EventData.EventData.MemoryAccessFault;
  const auto& nodes = discovery_.gpu_nodes;
  const auto gpu = std::find(nodes.begin(), nodes.end(), what.NodeId);
  EngineFault fault;
  fault.kind = FaultKind::bad_address;
  fault.gpu = RankId{gpu == nodes.end() ? kUnknown : static_cast<std::uint32_t>(gpu - nodes.begin())};
  fault.engine = EngineId{kUnknown};
  fault.queue = kUnknown;
  fault.address = what.VirtualAddress;
  fault.message = fmt::format("memory exception at {:#x} on KFD node {}: {}; the driver does not tell the engine",
                              fault.address, what.NodeId,
                              what.Failure.NotPresent  ? "page not present"
                              : what.Failure.ReadOnly  ? "write to a read-only page"
                              : what.Failure.GpuAccess ? "page of the host only"
                              : what.Failure.ECC       ? "uncorrectable memory error"
                                                       : "unknown cause");
  faults_.push_back(std::move(fault));
  return faults_;
}

HsaClockCounters KfdNode::counters() const {
  HsaClockCounters counters{};
  // Without counters the clock stands still at zero, which clock() reports as 0 ticks per second.
  if (thunk_.get_clock_counters(discovery_.gpu_nodes.front(), &counters) != HSAKMT_STATUS_SUCCESS) return {};
  return counters;
}

/// The clock of GPU 0. The driver gives its counter beside the system's, but not its rate: that follows from two
/// readings at least 5 ms apart, where a reading that is off by a microsecond makes 0.02 %.
DeviceClock KfdNode::clock() const {
  constexpr std::chrono::milliseconds kApart{5};
  HsaClockCounters now = counters();
  const auto apart = [&] {
    return static_cast<double>(now.SystemClockCounter - first_counters_.SystemClockCounter) /
           static_cast<double>(std::max<HSAuint64>(now.SystemClockFrequencyHz, 1));
  };
  const double enough = std::chrono::duration<double>(kApart).count();
  if (now.SystemClockFrequencyHz != 0 && apart() < enough) {
    std::this_thread::sleep_for(kApart);
    now = counters();
  }
  const auto ticks = static_cast<double>(now.GPUClockCounter - first_counters_.GPUClockCounter);
  if (now.SystemClockFrequencyHz == 0 || apart() <= 0) return {0, now.GPUClockCounter};
  return {static_cast<std::uint64_t>(std::llround(ticks / apart())), now.GPUClockCounter};
}

}  // namespace

Result<std::unique_ptr<Driver>> open_kfd_node(ThunkFunctions thunk) {
  auto node = std::make_unique<KfdNode>(std::move(thunk));
  CORTADO_RETURN_IF_ERROR(node->open());
  return std::unique_ptr<Driver>(std::move(node));
}

Result<std::unique_ptr<Driver>> open_kfd_node() {
  CORTADO_ASSIGN_OR_RETURN(ThunkFunctions thunk, load_thunk());
  return open_kfd_node(std::move(thunk));
}

}  // namespace cortado::device
