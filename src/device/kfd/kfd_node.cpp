#include "device/kfd/kfd_node.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cmath>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "device/kfd/discover.hpp"
#include "device/kfd/events.hpp"
#include "device/kfd/kfd.hpp"
#include "device/kfd/memory.hpp"

namespace cortado::device {
namespace {

constexpr std::uint64_t kSmallestKfdRing = 4096;  // a page, since a ring is a separate mapping
constexpr std::uint64_t kLargestKfdRing = std::uint64_t{1} << 31;
constexpr std::uint64_t kPointerPage = 4096;
constexpr std::size_t kReadPointerWord = 0;
constexpr std::size_t kWritePointerWord = 8;  // on another cache line

/// Stores the value after all earlier stores. On x86, a release store alone does not order stores to memory that is
/// mapped as write combining.
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
  std::uint32_t handle = 0;
  Memory ring;
  Memory pointers;
};

class KfdNode final : public Driver {
 public:
  explicit KfdNode(std::unique_ptr<KfdSystem> system) : system_(std::move(system)) {}
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
  Result<Event> create_event() override { return events_.create(); }
  void destroy(const Event& event) override { events_.destroy(event); }
  bool wait(const Event& event, std::chrono::nanoseconds timeout) override { return events_.wait(event, timeout); }
  bool assist() override;
  std::vector<EngineFault> faults() const override { return events_.faults(); }
  QueueState state(const SdmaQueue& queue) const override;
  std::string state(const ComputeQueue& queue) const override;
  DeviceClock clock() const override;

 private:
  Status open_gpus();
  Result<const Engine*> find_engine(const SdmaQueueRequest& request) const;
  Status check_free_slot(RankId gpu, const Engine& engine) const;
  Status create_on_engine(QueueSlot& slot, const Engine& engine);
  Result<std::uint64_t*> doorbell_at(std::uint64_t offset);
  void destroy_slot(const QueueSlot& slot);
  kfd::ClockCounters counters() const;

  std::unique_ptr<KfdSystem> system_;
  KfdFiles files_;
  Discovery discovery_;
  KfdMemory memory_{*system_, files_, discovery_};
  mutable KfdEvents events_{*system_, files_, discovery_, memory_};
  kfd::ClockCounters first_counters_{};
  mutable std::mutex mutex_;  // guards everything below
  std::uint32_t next_queue_ = 0;
  std::vector<std::unique_ptr<QueueSlot>> queues_;
  std::map<std::uint64_t, std::byte*> doorbell_pages_;  // by mmap offset
};

Status KfdNode::open() {
  files_.kfd = system_->open(kfd::kDevice);
  if (files_.kfd < 0) {
    const int error = -files_.kfd;
    return fail(system_error(
        "device.no_gpu", fmt::format("open of {}", kfd::kDevice), error,
        error == EACCES ? "join the groups render and video, or run on the embedded node: --on soft" : kUseSoft));
  }
  kfd::GetVersion version;
  if (const int error = system_->call(files_.kfd, kfd::Call::get_version, version); error != 0) {
    return fail(system_error("device.topology", "AMDKFD_IOC_GET_VERSION", error, kUseSoft));
  }
  CORTADO_ASSIGN_OR_RETURN(discovery_, discover(*system_, version));
  CORTADO_RETURN_IF_ERROR(open_gpus());
  events_.watch_exceptions();
  first_counters_ = counters();
  return {};
}

Status KfdNode::open_gpus() {
  for (const KfdGpu& gpu : discovery_.gpus) {
    const std::string path = fmt::format("{}{}", kfd::kRenderNodes, gpu.render_minor);
    const int file = system_->open(path);
    if (file < 0) {
      return fail(system_error("device.no_gpu", fmt::format("open of {}", path), -file,
                               "join the groups render and video, or run on the embedded node: --on soft"));
    }
    files_.render.push_back(file);
    kfd::AcquireVm request{static_cast<std::uint32_t>(file), gpu.id};
    if (const int error = system_->call(files_.kfd, kfd::Call::acquire_vm, request); error != 0) {
      return fail(system_error("device.topology", fmt::format("AMDKFD_IOC_ACQUIRE_VM of {}", path), error));
    }
  }
  // The GPUs must be able to use the host's addresses.
  std::vector<kfd::Apertures> apertures(discovery_.gpus.size());
  kfd::GetApertures request{reinterpret_cast<std::uintptr_t>(apertures.data()),
                            static_cast<std::uint32_t>(apertures.size()), 0};
  if (const int error = system_->call(files_.kfd, kfd::Call::get_apertures, request); error != 0) {
    return fail(system_error("device.topology", "AMDKFD_IOC_GET_PROCESS_APERTURES_NEW", error));
  }
  constexpr std::uint64_t kHostAddresses = (std::uint64_t{1} << 47) - 1;
  for (const kfd::Apertures& aperture : apertures) {
    if (aperture.gpuvm_limit >= kHostAddresses) continue;
    return fail(
        Diagnostic{"device.memory",
                   fmt::format("GPU {:#x} only reaches addresses up to {:#x}", aperture.gpu_id, aperture.gpuvm_limit),
                   "this needs GPUs that share the host's addresses",
                   {},
                   About::environment});
  }
  return {};
}

KfdNode::~KfdNode() {
  for (const auto& slot : queues_) destroy_slot(*slot);
  events_.destroy_all();
  memory_.release_all();
  for (const auto& [offset, page] : doorbell_pages_) ::munmap(page, kfd::kDoorbellPage);
  for (const int file : files_.render) system_->close(file);
  if (files_.kfd >= 0) system_->close(files_.kfd);
}

// --- Queues ----------------------------------------------------------------------------------------------------------

Result<const Engine*> KfdNode::find_engine(const SdmaQueueRequest& request) const {
  const auto& gpus = discovery_.topology.gpus;
  if (request.gpu.value >= gpus.size()) {
    return fail("device.gpus",
                fmt::format("queue requested on GPU {}, but the node has {}", request.gpu.value, gpus.size()));
  }
  const auto& engines = gpus[request.gpu.value].engines;
  const auto engine = std::ranges::find(engines, request.engine, &Engine::id);
  if (engine == engines.end()) {
    return fail("device.engine", fmt::format("GPU {} has no engine {}: it has {} engines, counted from 0",
                                             request.gpu.value, request.engine.value, engines.size()));
  }
  return &*engine;
}

/// Slots that this process holds; only the kernel knows those of other processes.
Status KfdNode::check_free_slot(RankId gpu, const Engine& engine) const {
  const GpuInfo& info = discovery_.topology.gpus[gpu.value];
  const auto same_class = [&](const Engine& other) { return other.kind == engine.kind; };
  // Where the kernel chooses the engine, the engines of a class share their slots.
  const auto engines = discovery_.queues_by_engine ? 1 : std::ranges::count_if(info.engines, same_class);
  const auto used = std::ranges::count_if(queues_, [&](const auto& slot) {
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

Result<std::uint64_t*> KfdNode::doorbell_at(std::uint64_t offset) {
  const std::uint64_t page = offset & ~(kfd::kDoorbellPage - 1);
  auto found = doorbell_pages_.find(page);
  if (found == doorbell_pages_.end()) {
    void* const mapped =
        ::mmap(nullptr, kfd::kDoorbellPage, PROT_READ | PROT_WRITE, MAP_SHARED, files_.kfd, static_cast<off_t>(page));
    if (mapped == MAP_FAILED) {
      return fail(system_error("device.queue", fmt::format("mmap of the doorbells of {}", kfd::kDevice), errno));
    }
    found = doorbell_pages_.emplace(page, static_cast<std::byte*>(mapped)).first;
  }
  return reinterpret_cast<std::uint64_t*>(found->second + offset % kfd::kDoorbellPage);
}

Status KfdNode::create_on_engine(QueueSlot& slot, const Engine& engine) {
  auto* const words = reinterpret_cast<std::uint64_t*>(slot.pointers.data);
  slot.queue.read_pointer = words + kReadPointerWord;
  slot.queue.write_pointer = words + kWritePointerWord;
  const kfd::QueueType by_class = engine.kind == EngineClass::host ? kfd::QueueType::sdma : kfd::QueueType::sdma_xgmi;
  kfd::CreateQueue request;
  request.ring_base = slot.ring.address();
  request.write_pointer = reinterpret_cast<std::uintptr_t>(slot.queue.write_pointer);
  request.read_pointer = reinterpret_cast<std::uintptr_t>(slot.queue.read_pointer);
  request.ring_size = static_cast<std::uint32_t>(slot.queue.ring_bytes);
  request.gpu_id = discovery_.gpus[slot.queue.gpu.value].id;
  request.type = static_cast<std::uint32_t>(discovery_.queues_by_engine ? kfd::QueueType::sdma_by_engine : by_class);
  request.percentage = kfd::kMostPercent;
  request.priority = kfd::kMostPriority;
  request.sdma_engine_id = engine.id.value;
  if (const int error = system_->call(files_.kfd, kfd::Call::create_queue, request); error != 0) {
    return fail(system_error(
        "device.queue",
        fmt::format("AMDKFD_IOC_CREATE_QUEUE on engine {} of GPU {}", engine.id.value, slot.queue.gpu.value), error,
        error == ENOMEM ? "no free queue slot: other processes hold them; use another engine" : ""));
  }
  slot.handle = request.queue_id;
  const auto doorbell = doorbell_at(request.doorbell_offset);
  if (!doorbell) {
    kfd::DestroyQueue destroy{slot.handle, 0};
    system_->call(files_.kfd, kfd::Call::destroy_queue, destroy);
    return fail(doorbell.error());
  }
  slot.queue.doorbell = *doorbell;
  return {};
}

Result<SdmaQueue*> KfdNode::create_sdma_queue(const SdmaQueueRequest& request) {
  CORTADO_ASSIGN_OR_RETURN(const Engine* const engine, find_engine(request));
  const std::uint64_t bytes = request.ring_bytes.value;
  if (!std::has_single_bit(bytes) || bytes < kSmallestKfdRing || bytes > kLargestKfdRing) {
    return fail("device.queue", fmt::format("a ring of {} bytes requested", bytes),
                "a ring must be a power of two from 4 KiB to 2 GiB");
  }
  const std::lock_guard lock(mutex_);
  CORTADO_RETURN_IF_ERROR(check_free_slot(request.gpu, *engine));
  auto slot = std::make_unique<QueueSlot>();
  CORTADO_ASSIGN_OR_RETURN(const auto ring, memory_.allocate_exactly(bytes));
  slot->ring = ring.memory;
  const auto pointers = memory_.allocate_exactly(kPointerPage);
  if (!pointers) {
    memory_.release(slot->ring);
    return fail(pointers.error());
  }
  slot->pointers = pointers->memory;
  slot->queue.gpu = request.gpu;
  slot->queue.engine = request.engine;
  slot->queue.ring = slot->ring.data;
  slot->queue.ring_bytes = bytes;
  if (auto created = create_on_engine(*slot, *engine); !created) {
    memory_.release(slot->ring);
    memory_.release(slot->pointers);
    return fail(std::move(created).error());
  }
  slot->queue.id = next_queue_++;
  queues_.push_back(std::move(slot));
  return &queues_.back()->queue;
}

void KfdNode::destroy_slot(const QueueSlot& slot) {
  kfd::DestroyQueue request{slot.handle, 0};
  system_->call(files_.kfd, kfd::Call::destroy_queue, request);
  memory_.release(slot.ring);
  memory_.release(slot.pointers);
}

void KfdNode::destroy(SdmaQueue* queue) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(queues_, [&](const auto& slot) { return &slot->queue == queue; });
  CORTADO_CHECK(found != queues_.end(), "a queue was created by this driver and not destroyed before");
  destroy_slot(**found);
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
              fmt::format("no compute queue on GPU {}: on real GPUs only DMA queues run, no kernels", gpu.value),
              "use a plan without kernels, or run on the embedded node: --on soft");
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
              fmt::format("no tracker on GPU {}: no existing hardware counts memory updates", request.gpu.value),
              "run it on the embedded node: --on soft");
}

void KfdNode::destroy(TrackerHandle) {
  CORTADO_CHECK(false, "this node has no trackers");
}

TrackerState KfdNode::state(TrackerHandle) const {
  CORTADO_CHECK(false, "this node has no trackers");
}

// --- Waiting, time ---------------------------------------------------------------------------------------------------

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

kfd::ClockCounters KfdNode::counters() const {
  kfd::ClockCounters counters;
  counters.gpu_id = discovery_.gpus.front().id;
  // Without counters the clock stands still at zero, which clock() reports as 0 ticks per second.
  if (system_->call(files_.kfd, kfd::Call::get_clock_counters, counters) != 0) return {};
  return counters;
}

/// The clock of GPU 0. The driver reports its counter together with the system's, but not its rate: that is derived
/// from two readings at least 5 ms apart, so that an error of a microsecond in a reading amounts to 0.02 %.
DeviceClock KfdNode::clock() const {
  constexpr std::chrono::milliseconds kApart{5};
  kfd::ClockCounters now = counters();
  const auto apart = [&] {
    return static_cast<double>(now.system - first_counters_.system) /
           static_cast<double>(std::max<std::uint64_t>(now.system_frequency, 1));
  };
  const double enough = std::chrono::duration<double>(kApart).count();
  if (now.system_frequency != 0 && apart() < enough) {
    std::this_thread::sleep_for(kApart);
    now = counters();
  }
  const auto ticks = static_cast<double>(now.gpu - first_counters_.gpu);
  if (now.system_frequency == 0 || apart() <= 0) return {0, now.gpu};
  return {static_cast<std::uint64_t>(std::llround(ticks / apart())), now.gpu};
}

}  // namespace

Result<std::unique_ptr<Driver>> open_kfd_node(std::unique_ptr<KfdSystem> system) {
  auto node = std::make_unique<KfdNode>(std::move(system));
  CORTADO_RETURN_IF_ERROR(node->open());
  return std::unique_ptr<Driver>(std::move(node));
}

Result<std::unique_ptr<Driver>> open_kfd_node() {
  return open_kfd_node(linux_system());
}

}  // namespace cortado::device
