// The embedded node: memory, queues, events and the dispatcher behind the driver seam.
#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/cores.hpp"
#include "device/soft/blas.hpp"
#include "device/soft/compute_runner.hpp"
#include "device/soft/dispatcher.hpp"
#include "device/soft/engine_queue.hpp"
#include "device/soft/event_table.hpp"
#include "device/soft/fault_injector.hpp"
#include "device/soft/memory_map.hpp"
#include "device/soft/soft.hpp"
#include "device/soft/tracker_unit.hpp"

namespace cortado::device {
namespace soft {
namespace {

constexpr std::uint32_t kMostGpus = 4096;
constexpr std::uint32_t kMostWorkers = 256;
// Of all GPUs together, so that one may have more than others.
constexpr std::uint32_t kComputeQueuesPerGpu = 256;  // two for each of 64 peers, and more
constexpr std::uint32_t kLeastComputeQueues = 8192;  // of a node with few GPUs
constexpr std::uint64_t kSmallestRing = 64;
constexpr std::uint64_t kLargestRing = 1ULL << 31;
constexpr std::uint32_t kEventIds = 1U << 28;  // what a TRAP packet can name
constexpr std::chrono::microseconds kEventSpin{100};
constexpr std::chrono::microseconds kEventNap{200};

Topology make_topology(const Machine& machine, std::uint32_t gpus, const std::string& threads) {
  Topology topology;
  topology.node = fmt::format("embedded node: {} GPU{} of {}, {}", gpus, gpus == 1 ? "" : "s", machine.name, threads);
  for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) {
    topology.gpus.push_back({fmt::format("embedded GPU {}", gpu), machine.engines, machine.dma.queues_per_engine});
  }
  topology.recommended.assign(gpus, std::vector<std::uint32_t>(gpus, 0));
  for (std::uint32_t src = 0; src < gpus && src < machine.affinity.size(); ++src) {
    for (std::uint32_t dst = 0; dst < gpus && dst < machine.affinity[src].size(); ++dst) {
      const auto& engine = machine.affinity[src][dst];
      if (engine && engine->value < 32) topology.recommended[src][dst] = 1U << engine->value;
    }
  }
  topology.near_memory_compute = machine.features.near_memory_compute;
  topology.compute = true;
  topology.tracker = machine.features.tracker;
  topology.features = machine.features;
  return topology;
}

std::uint32_t most_compute_queues(std::size_t gpus) {
  return std::max(static_cast<std::uint32_t>(gpus) * kComputeQueuesPerGpu, kLeastComputeQueues);
}

std::uint32_t most_queues(const Machine& machine, std::uint32_t gpus) {
  const auto engines = static_cast<std::uint32_t>(machine.engines.size());
  return gpus * engines * machine.dma.queues_per_engine + most_compute_queues(gpus);
}

class SoftNode final : public Driver, private EngineHost {
 public:
  SoftNode(const Machine& machine, Topology topology, const SoftOptions& options, std::uint32_t workers)
      : topology_(std::move(topology)),
        rules_{machine.dma, machine.features},
        injected_(options.faults),
        memory_(machine.memory_bytes),
        delays_(options.adversarial_seed.has_value()),
        trackers_(topology_.tracker, static_cast<std::uint32_t>(topology_.gpus.size()), memory_),
        context_{memory_, rules_, *this, delays_, trackers_} {
    const auto gpus = static_cast<std::uint32_t>(topology_.gpus.size());
    dispatcher_ = options.adversarial_seed ? make_random_dispatcher(*options.adversarial_seed, delays_)
                                           : make_threaded_dispatcher(most_queues(machine, gpus), workers);
  }

  ~SoftNode() override { dispatcher_.reset(); }  // ends the threads before the queues are destroyed

  const Topology& topology() const override { return topology_; }

  // --- Memory ---

  Result<Memory> allocate(const MemoryRequest& request) override {
    if (request.home && request.home->value >= topology_.gpus.size()) {
      return fail("device.memory",
                  fmt::format("there is no GPU {} on a node with {}", request.home->value, topology_.gpus.size()));
    }
    return memory_.allocate(request);
  }

  void release(const Memory& memory) override {
    if (!memory_.retire(memory.data)) return;
    dispatcher_->wait_for_running_steps();
    memory_.unmap(memory.data);
  }

  Status map_host(const Memory& memory) override { return memory_.map_host(memory); }
  void unmap_host(const Memory& memory) override { memory_.unmap_host(memory); }

  // --- SDMA queues ---

  Result<SdmaQueue*> create_sdma_queue(const SdmaQueueRequest& request) override {
    CORTADO_RETURN_IF_ERROR(check_request(request));
    const std::lock_guard lock(mutex_);
    EngineState& engine = engines_[{request.gpu.value, request.engine.value}];
    const std::uint32_t most = topology_.gpus[request.gpu.value].queues_per_engine;
    if (engine.queues.size() >= most) {
      return fail("device.queue",
                  fmt::format("engine {} of GPU {} has no free queue: all {} are in use", request.engine.value,
                              request.gpu.value, most),
                  "use another engine or fewer queues on this one");
    }
    if (!engine.injection) {
      engine.injection = std::make_unique<EngineInjection>(injected_, request.gpu, request.engine);
    }
    CORTADO_ASSIGN_OR_RETURN(const Pages ring, map_pages(request.ring_bytes.value, 4096));
    auto queue = std::make_unique<EngineQueue>(context_, request, next_id_++, ring,
                                               engine.injection->empty() ? nullptr : engine.injection.get());
    const auto slot = dispatcher_->attach(*queue);
    CORTADO_CHECK(slot.has_value(), "there are slots for as many queues as the engines have");
    EngineQueueHandle& handle = queue->handle();
    handle.slot = *slot;
    engine.queues.push_back(&handle);
    sdma_queues_.emplace(&handle, std::move(queue));
    return &handle;
  }

  void destroy(SdmaQueue* queue) override {
    const std::lock_guard lock(mutex_);
    const auto found = sdma_queues_.find(queue);
    if (found == sdma_queues_.end()) return;
    EngineQueueHandle& handle = found->second->handle();
    EngineState& engine = engines_[{handle.gpu.value, handle.engine.value}];
    dispatcher_->detach(handle.slot);
    std::erase(engine.queues, &handle);
    sdma_queues_.erase(found);
    // The engine may have been stalled by this queue: the others check again.
    if (!engine.injection->empty()) {
      for (const EngineQueueHandle* other : engine.queues) dispatcher_->notify(other->slot);
    }
  }

  void ring_doorbell(SdmaQueue& queue, std::uint64_t write_offset) override {
    auto& handle = static_cast<EngineQueueHandle&>(queue);
    if (handle.queue->write_doorbell(write_offset)) dispatcher_->notify(handle.slot);
  }

  QueueState state(const SdmaQueue& queue) const override {
    const auto& handle = static_cast<const EngineQueueHandle&>(queue);
    QueueState result;
    dispatcher_->exclusively(handle.slot, [&] { result = handle.queue->state(); });
    return result;
  }

  // --- Compute queues ---

  Status prepare_products() override {
    if (!blas()) return fail(blas().error());
    return {};
  }

  Result<ComputeQueue*> create_compute_queue(RankId gpu, std::int32_t) override {
    if (gpu.value >= topology_.gpus.size()) return no_gpu(gpu);
    const std::lock_guard lock(mutex_);
    if (compute_queues_.size() >= most_compute_queues(topology_.gpus.size())) {
      return fail("device.queue", fmt::format("GPU {} gets no compute queue: all {} of the node are in use", gpu.value,
                                              compute_queues_.size()));
    }
    auto runner = std::make_unique<ComputeRunner>(memory_, trackers_, rules_.features, faults_, gpu, next_id_++);
    const auto slot = dispatcher_->attach(*runner);
    CORTADO_CHECK(slot.has_value(), "there are slots for as many compute queues as the GPUs have");
    ComputeQueueHandle& handle = runner->handle();
    handle.slot = *slot;
    compute_queues_.emplace(&handle, std::move(runner));
    return &handle;
  }

  void destroy(ComputeQueue* queue) override {
    const std::lock_guard lock(mutex_);
    const auto found = compute_queues_.find(queue);
    if (found == compute_queues_.end()) return;
    dispatcher_->detach(found->second->handle().slot);
    compute_queues_.erase(found);
  }

  void submit(ComputeQueue& queue, std::span<const ComputeOp> operations) override {
    auto& handle = static_cast<ComputeQueueHandle&>(queue);
    handle.runner->submit(operations);
    dispatcher_->notify(handle.slot);
  }

  std::string state(const ComputeQueue& queue) const override {
    const auto& handle = static_cast<const ComputeQueueHandle&>(queue);
    std::string result;
    dispatcher_->exclusively(handle.slot, [&] { result = handle.runner->state(); });
    return result;
  }

  // --- Trackers ---

  Result<TrackerHandle> create_tracker(const TrackerRequest& request) override { return trackers_.create(request); }
  void destroy(TrackerHandle tracker) override { trackers_.destroy(tracker); }
  TrackerState state(TrackerHandle tracker) const override { return trackers_.state(tracker); }
  TrackerUse tracker_use(RankId gpu) const override { return trackers_.use(gpu); }

  // --- Events, faults, time ---

  Result<Event> create_event() override {
    CORTADO_ASSIGN_OR_RETURN(const Memory mailbox, memory_.allocate({std::nullopt, {64}, {64}}));
    const std::uint32_t id = events_.create(mailbox);
    if (id >= kEventIds) {
      destroy(Event{id, nullptr});
      return fail("device.event", "all event ids of a TRAP packet have been used");
    }
    return Event{id, reinterpret_cast<std::uint64_t*>(mailbox.data)};
  }

  void destroy(const Event& event) override { release(events_.destroy(event.id)); }

  bool wait(const Event& event, std::chrono::nanoseconds timeout) override {
    const auto start = std::chrono::steady_clock::now();
    for (;;) {
      if (events_.take(event.id)) return true;
      dispatcher_->assist();
      const auto waited = std::chrono::steady_clock::now() - start;
      if (waited >= timeout) return events_.take(event.id);
      // After a while the thread sleeps between checks; workers, if there are any, continue meanwhile.
      if (waited < kEventSpin) continue;
      const auto nap = std::min<std::chrono::nanoseconds>(kEventNap, timeout - waited);
      if (sleeps_in_wait_ && events_.take_within(event.id, nap)) return true;
    }
  }

  bool assist() override { return dispatcher_->assist(); }

  std::vector<EngineFault> faults() const override { return faults_.all(); }
  DeviceClock clock() const override { return {1'000'000'000, steady_nanoseconds()}; }

  void sleep_in_wait(bool sleeps) { sleeps_in_wait_ = sleeps; }

 private:
  struct EngineState {
    std::vector<EngineQueueHandle*> queues;
    std::unique_ptr<EngineInjection> injection;
  };

  void trap(const SdmaQueue&, std::uint32_t context) override { events_.fire(context); }
  void fault(EngineFault what) override { faults_.add(std::move(what)); }
  std::uint64_t timestamp(const SdmaQueue&) override { return steady_nanoseconds(); }

  Unexpected<Diagnostic> no_gpu(RankId gpu) const {
    return fail("device.queue", fmt::format("there is no GPU {} on a node with {}", gpu.value, topology_.gpus.size()));
  }

  Status check_request(const SdmaQueueRequest& request) const {
    if (request.gpu.value >= topology_.gpus.size()) return no_gpu(request.gpu);
    const auto& engines = topology_.gpus[request.gpu.value].engines;
    const auto engine = std::ranges::find(engines, request.engine, &Engine::id);
    if (engine == engines.end()) {
      return fail("device.engine", fmt::format("GPU {} has no DMA engine {}", request.gpu.value, request.engine.value));
    }
    if (!engine->present) {
      return fail(
          "device.engine",
          fmt::format("DMA engine {} of GPU {} is in the driver's table but not in silicon: a queue on it would "
                      "hang",
                      request.engine.value, request.gpu.value));
    }
    const std::uint64_t ring = request.ring_bytes.value;
    if (!std::has_single_bit(ring) || ring < kSmallestRing || ring > kLargestRing) {
      return fail("device.queue",
                  fmt::format("ring of {} bytes: not a power of two from {} to {}", ring, kSmallestRing, kLargestRing));
    }
    return {};
  }

  const Topology topology_;
  const EngineRules rules_;
  const FaultInjection injected_;
  MemoryMap memory_;
  FaultLog faults_;
  EventTable events_;
  DelayClock delays_;
  TrackerUnit trackers_;
  const EngineContext context_;
  bool sleeps_in_wait_ = false;

  std::mutex mutex_;  // guards the tables below; steps of queues never take it
  std::uint32_t next_id_ = 0;
  std::map<std::pair<std::uint32_t, std::uint32_t>, EngineState> engines_;  // by GPU and engine
  std::unordered_map<const SdmaQueue*, std::unique_ptr<EngineQueue>> sdma_queues_;
  std::unordered_map<const ComputeQueue*, std::unique_ptr<ComputeRunner>> compute_queues_;
  std::unique_ptr<Dispatcher> dispatcher_;
};

}  // namespace
}  // namespace soft

Result<std::unique_ptr<Driver>> open_soft_node(const Machine& machine, std::uint32_t gpus, const SoftOptions& options) {
  if (gpus == 0 || gpus > soft::kMostGpus) {
    return fail("device.gpus", fmt::format("an embedded node has 1 to {} GPUs, not {}", soft::kMostGpus, gpus));
  }
  if (options.workers.value_or(0) > soft::kMostWorkers) {
    return fail(
        "device.workers",
        fmt::format("{} worker threads requested; at most {} are possible", *options.workers, soft::kMostWorkers),
        "leave it out: one less than the number of cores is best");
  }
  const std::uint32_t cores = available_cores();
  const std::uint32_t workers = options.adversarial_seed ? 0 : options.workers.value_or(cores - 1);
  const std::string threads = options.adversarial_seed
                                  ? fmt::format("adversarial with seed {}", *options.adversarial_seed)
                                  : fmt::format("{} thread{}", workers + 1, workers == 0 ? "" : "s");
  auto node = std::make_unique<soft::SoftNode>(machine, soft::make_topology(machine, gpus, threads), options, workers);
  node->sleep_in_wait(workers > 0);
  return node;
}

}  // namespace cortado::device
