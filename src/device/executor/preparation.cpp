#include "device/executor/preparation.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "device/executor/binding.hpp"
#include "ir/engine_signals.hpp"
#include "ir/visit.hpp"
#include "verify/packet_space.hpp"

namespace cortado::device {
namespace {

/// Tracing keeps at most this many iterations, and at most this many bytes of slots.
constexpr std::uint64_t kTracedIterations = 16;
constexpr std::uint64_t kTraceBytes = std::uint64_t{32} << 20;

constexpr std::uint64_t kTouchedFrames = 16;

Diagnostic refusal(std::string code, const Queue& queue, std::string message, std::string hint) {
  Diagnostic diagnostic{std::move(code), std::move(message), std::move(hint), {}, About::machine};
  diagnostic.place.rank = queue.rank;
  diagnostic.place.queue = queue.name;
  return diagnostic;
}

Status check_dma_queue(const Queue& queue, const Topology& topology) {
  const std::vector<Engine>& engines = topology.gpus[queue.rank->value].engines;
  const auto engine =
      std::find_if(engines.begin(), engines.end(), [&](const Engine& e) { return e.id == queue.engine; });
  if (engine == engines.end() || !engine->present) {
    return fail(refusal("device.engine", queue,
                        fmt::format("GPU {} of the {} has no DMA engine {}{}", queue.rank->value, topology.node,
                                    queue.engine->value, engine == engines.end() ? "" : " in silicon"),
                        "plan for the machine of this node"));
  }
  if (!has_packing(topology.features, queue.packing)) {
    return fail(refusal("device.packets", queue,
                        fmt::format("the {} has no {} packets", topology.node, to_string(queue.packing)),
                        "plan for the machine of this node"));
  }
  const bool adds = topology.near_memory_compute || topology.features.engine_add;
  for (std::size_t c = 0; c < queue.commands.size(); ++c) {
    const auto* copy = std::get_if<Copy>(&queue.commands[c]);
    if (copy == nullptr || copy->op != CopyOp::add || adds) continue;
    Diagnostic diagnostic =
        refusal("device.near_memory_compute", queue,
                fmt::format("copy with add, but the memory of the {} does not reduce", topology.node),
                "use a variant with reduction kernels");
    diagnostic.place.command = static_cast<std::uint32_t>(c);
    return fail(std::move(diagnostic));
  }
  return {};
}

bool submits(const Queue& queue) {
  return std::ranges::any_of(queue.commands,
                             [](const Command& command) { return std::holds_alternative<Submit>(command); });
}

Status check_compute_queue(const Queue& queue, const Topology& topology) {
  if (!topology.compute) {
    return fail(refusal("device.compute", queue, fmt::format("the {} cannot run compute queues", topology.node),
                        "use a variant of DMA copies only, or the embedded node"));
  }
  if (!topology.features.device_initiated && submits(queue)) {
    return fail(refusal("device.packets", queue, fmt::format("kernels of the {} cannot ring doorbells", topology.node),
                        "submit its queues from the host"));
  }
  for (std::size_t c = 0; c < queue.commands.size(); ++c) {
    const auto* gemm = std::get_if<Gemm>(&queue.commands[c]);
    if (gemm == nullptr || topology.near_memory_compute) continue;
    const bool adds = std::ranges::any_of(gemm->outputs, [](const OutputBlock& b) { return b.op == CopyOp::add; });
    if (!adds) continue;
    Diagnostic diagnostic =
        refusal("device.near_memory_compute", queue,
                fmt::format("a GEMM that adds its output, but the memory of the {} does not reduce", topology.node),
                "use a machine whose memory adds, or a schedule with reduction kernels");
    diagnostic.place.command = static_cast<std::uint32_t>(c);
    return fail(std::move(diagnostic));
  }
  return {};
}

bool has_products(const Program& program) {
  return std::ranges::any_of(program.queues, [](const Queue& queue) {
    return std::ranges::any_of(queue.commands,
                               [](const Command& command) { return std::holds_alternative<Gemm>(command); });
  });
}

Status check_trackers(const Program& program, const Topology& topology) {
  if (program.trackers.empty() || topology.tracker) return {};
  const Tracker& first = program.trackers.front();
  Diagnostic diagnostic{
      "device.tracker",
      fmt::format("the program has {} tracker{}, the first is {}, but the {} has none", program.trackers.size(),
                  program.trackers.size() == 1 ? "" : "s", first.name, topology.node),
      "run it on the embedded node of a machine that has them, e.g. t3-ring-8"};
  diagnostic.place.rank = program.buffer(first.region.buffer).rank;
  return fail(std::move(diagnostic));
}

/// Whether the node can run the program at all.
Status check_node(const Program& program, const Topology& topology) {
  if (program.ranks > topology.gpus.size()) {
    return fail("device.ranks",
                fmt::format("the program has {} ranks, but the {} has {} GPUs", program.ranks, topology.node,
                            topology.gpus.size()),
                "open a larger node, or plan for fewer ranks");
  }
  for (const Queue& queue : program.queues) {
    if (queue.kind == QueueKind::dma) CORTADO_RETURN_IF_ERROR(check_dma_queue(queue, topology));
    if (queue.kind == QueueKind::compute) CORTADO_RETURN_IF_ERROR(check_compute_queue(queue, topology));
  }
  return check_trackers(program, topology);
}

Bytes bytes_of_one_iteration(const Program& program) {
  Bytes sum;
  for (const Queue& queue : program.queues) {
    for (const Command& command : queue.commands) sum += moved_bytes(command);
  }
  return sum;
}

/// Before every copy except the first.
std::vector<std::uint32_t> doorbells_of(const Queue& queue, const Frame& frame) {
  std::vector<std::uint32_t> doorbells;
  bool first = true;
  for (std::size_t c = 0; c < queue.commands.size(); ++c) {
    if (!moves_bytes(queue.commands[c])) continue;
    if (!std::exchange(first, false)) doorbells.push_back(frame.start[c]);
  }
  return doorbells;
}

class Preparer {
 public:
  Preparer(const VerifiedProgram& verified, Driver& driver, const PrepareOptions& options)
      : made_(std::make_unique<Preparation>(verified, driver, options.trace)),
        program_(verified.program()),
        bindings_(options.bindings) {}

  Result<std::unique_ptr<Preparation>> run() && {
    CORTADO_RETURN_IF_ERROR(check_node(program_, made_->driver.topology()));
    if (!bindings_.empty()) {
      made_->binding_alignment = needed_alignment(program_, made_->verified.machine());
      CORTADO_RETURN_IF_ERROR(check_bindings(program_, made_->binding_alignment, bindings_));
    }
    if (has_products(program_)) CORTADO_RETURN_IF_ERROR(made_->driver.prepare_products());
    made_->advances = signal_advances(program_);
    CORTADO_ASSIGN_OR_RETURN(made_->max_batch_iterations, batch_iterations(program_, made_->advances));
    made_->bytes_per_iteration = bytes_of_one_iteration(program_);
    CORTADO_RETURN_IF_ERROR(allocate_buffers());
    CORTADO_RETURN_IF_ERROR(allocate_signals());
    CORTADO_RETURN_IF_ERROR(allocate_slots());
    CORTADO_RETURN_IF_ERROR(allocate_lists());
    CORTADO_RETURN_IF_ERROR(create_trackers());
    CORTADO_RETURN_IF_ERROR(create_device_queues());
    connect_kernels();
    compile_hosts();
    return std::move(made_);
  }

 private:
  Status allocate_buffers() {
    std::vector<std::byte*> memory;
    made_->bindings = bindings_;
    for (std::size_t i = 0; i < program_.buffers.size(); ++i) {
      const Buffer& buffer = program_.buffers[i];
      if (is_bound(i)) {
        CORTADO_RETURN_IF_ERROR(made_->resources.map_host({bindings_[i].data(), buffer.size}));
        memory.push_back(bindings_[i].data());
        made_->addresses.buffers.push_back(reinterpret_cast<std::uint64_t>(memory.back()));
        continue;
      }
      const auto home = buffer.host ? std::optional<RankId>{} : buffer.rank;
      MemoryRequest request{home, std::max(buffer.size, Bytes{1}), {}};
      request.alignment = std::max(made_->verified.machine().allocation_alignment, Bytes{4096});
      CORTADO_ASSIGN_OR_RETURN(const Memory allocated, made_->resources.allocate(request));
      memory.push_back(allocated.data);
      made_->addresses.buffers.push_back(allocated.address());
    }
    // Touched now, so that no run pays for page faults or reads a shared page of zeros; but only after everything is
    // allocated, because a request that is far too large is then rejected at once.
    for (std::size_t i = 0; i < memory.size(); ++i) {
      if (!is_bound(i)) std::memset(memory[i], 0xee, program_.buffers[i].size.value);
    }
    CORTADO_ASSIGN_OR_RETURN(ContractCheck check, ContractCheck::make(program_, std::move(memory)));
    made_->check = std::make_unique<ContractCheck>(std::move(check));
    return {};
  }

  bool is_bound(std::size_t buffer) const { return !bindings_.empty() && !bindings_[buffer].empty(); }

  /// One block of signals per home; the drain word follows the signals of the host.
  Status allocate_signals() {
    std::map<std::optional<RankId>, std::uint64_t> count{{std::nullopt, 1}};
    for (const SignalInfo& signal : program_.signals) ++count[signal.home];
    std::map<std::optional<RankId>, std::byte*> next;
    for (const auto& [home, signals] : count) {
      CORTADO_ASSIGN_OR_RETURN(const Memory block, made_->resources.allocate({home, Bytes{kSignalBytes * signals}}));
      next[home] = block.data;
      std::memset(block.data, 0, block.bytes.value);
    }
    const auto take = [&](std::optional<RankId> home) {
      std::byte* word = next[home];
      next[home] += kSignalBytes;
      return reinterpret_cast<std::uint64_t*>(word);
    };
    for (const SignalInfo& signal : program_.signals) {
      made_->words.push_back(take(signal.home));
      made_->addresses.signals.push_back(reinterpret_cast<std::uint64_t>(made_->words.back()));
    }
    made_->drain_word = take(std::nullopt);
    return {};
  }

  Status allocate_slots() {
    made_->slot_layout = slot_layout(program_);
    const std::uint64_t stride = std::max(made_->slot_layout.bytes, kSlotBytes);
    const std::uint64_t depth =
        made_->trace ? std::clamp(kTraceBytes / stride, std::uint64_t{1}, kTracedIterations) : 1;
    CORTADO_ASSIGN_OR_RETURN(const Memory block, made_->resources.allocate({std::nullopt, Bytes{stride * depth}}));
    std::memset(block.data, 0, block.bytes.value);
    made_->slots = {block.data, stride, depth};
    for (const std::uint64_t offset : made_->slot_layout.offset) {
      made_->addresses.slots.push_back(block.address() + offset);
    }
    return {};
  }

  Status allocate_lists() {
    const ListLayout layout = list_layout(program_, packing());
    std::uint64_t address = 0;
    if (!layout.entries.empty()) {
      const Bytes bytes{layout.entries.size() * sizeof(ListEntry)};
      CORTADO_ASSIGN_OR_RETURN(const Memory block, made_->resources.allocate({std::nullopt, bytes}));
      std::memcpy(block.data, layout.entries.data(), bytes.value);
      address = block.address();
    }
    for (const std::uint64_t offset : layout.offset) made_->addresses.lists.push_back(address + offset);
    return {};
  }

  PackingLimits packing() const { return packing_limits(made_->verified.machine().features); }

  Status create_trackers() {
    for (const Tracker& tracker : program_.trackers) {
      const RankId rank = program_.buffer(tracker.region.buffer).rank;
      auto created = made_->resources.create_tracker({rank, made_->addresses.span(tracker.region), tracker.updates,
                                                      made_->words[tracker.signal.value], tracker.value});
      if (!created) {
        Diagnostic refused = std::move(created).error();
        refused.message = fmt::format("tracker {}: {}", tracker.name, refused.message);
        refused.place.rank = rank;
        return fail(std::move(refused));
      }
      made_->trackers.push_back(*created);
    }
    return {};
  }

  Status create_device_queues() {
    for (std::uint32_t q = 0; q < program_.queues.size(); ++q) {
      if (program_.queues[q].kind == QueueKind::dma) CORTADO_RETURN_IF_ERROR(create_dma_queue(QueueId{q}));
      if (program_.queues[q].kind == QueueKind::compute) CORTADO_RETURN_IF_ERROR(create_compute_queue(QueueId{q}));
    }
    return {};
  }

  Status create_dma_queue(QueueId id) {
    const Queue& queue = program_.queue(id);
    CORTADO_ASSIGN_OR_RETURN(Frame frame, lower_queue(program_, id, made_->addresses, made_->advances,
                                                      {.trace = made_->trace, .packing = packing()}));
    if (queue.submission == Submission::calls) frame.doorbells = doorbells_of(queue, frame);
    std::uint64_t ring_bytes = made_->verified.machine().dma.ring_bytes.value;
    if (frame.bytes() >= ring_bytes) {
      // Only tracing makes a frame of a verified program that long: then a longer ring is requested.
      if (!made_->trace) {
        return fail(
            refusal("device.ring", queue,
                    fmt::format("{} bytes of packets do not fit in the ring of {} bytes", frame.bytes(), ring_bytes),
                    "use more queues, or a machine with a larger ring"));
      }
      ring_bytes = std::bit_ceil(frame.bytes() + 1);
    }
    CORTADO_ASSIGN_OR_RETURN(SdmaQueue* const ring,
                             made_->resources.create_sdma_queue({*queue.rank, *queue.engine, Bytes{ring_bytes}}));
    // Touched now for the first iterations, like the buffers.
    std::memset(ring->ring, 0, std::min(ring_bytes, kTouchedFrames * frame.bytes()));
    made_->dma.emplace_back(made_->driver, *ring, id, std::move(frame));
    return {};
  }

  Status create_compute_queue(QueueId id) {
    const Queue& queue = program_.queue(id);
    ComputeStream stream(program_, id, made_->addresses, made_->advances, made_->trace);
    CORTADO_ASSIGN_OR_RETURN(ComputeQueue* const created,
                             made_->resources.create_compute_queue(*queue.rank, queue.priority));
    stream.bind(made_->driver, *created);
    made_->compute.push_back(std::move(stream));
    return {};
  }

  /// All dma queues exist by now and will not move.
  void connect_kernels() {
    std::vector<PacketWriter*> writers(program_.queues.size());
    for (RingWriter& writer : made_->dma) writers[writer.id().value] = &writer;
    for (ComputeStream& stream : made_->compute) {
      const bool rings = submits(program_.queue(stream.id()));
      made_->kernels_submit = made_->kernels_submit || rings;
      if (rings) stream.connect(writers);
    }
  }

  void compile_hosts() {
    HostTargets targets;
    targets.words = made_->words;
    targets.position.resize(program_.queues.size());
    for (std::uint32_t i = 0; i < made_->dma.size(); ++i) targets.position[made_->dma[i].id().value] = i;
    for (std::uint32_t i = 0; i < made_->compute.size(); ++i) targets.position[made_->compute[i].id().value] = i;
    for (std::uint32_t q = 0; q < program_.queues.size(); ++q) {
      if (program_.queues[q].kind != QueueKind::host) continue;
      made_->hosts.push_back(compile_host(program_, QueueId{q}, targets, made_->advances));
    }
  }

  std::unique_ptr<Preparation> made_;
  const Program& program_;
  const std::vector<Binding>& bindings_;
};

}  // namespace

Result<std::unique_ptr<Preparation>> make_preparation(const VerifiedProgram& verified, Driver& driver,
                                                      const PrepareOptions& options) {
  return Preparer(verified, driver, options).run();
}

Result<std::uint64_t> batch_iterations(const Program& program, const std::vector<std::uint64_t>& advances) {
  const std::vector<std::uint64_t> largest = largest_values(program);
  const std::vector<bool> by_engine = engine_signals(program);
  std::uint64_t iterations = std::numeric_limits<std::uint64_t>::max();
  for (std::size_t s = 0; s < advances.size(); ++s) {
    const std::uint64_t limit = by_engine[s] ? kMaxEngineCounter : kMaxWideCounter;
    if (largest[s] > limit) {
      return fail("device.counter",
                  fmt::format("signal {} reaches {} in one iteration, but DMA engines compare 32 bits",
                              program.signals[s].name, largest[s]),
                  fmt::format("use smaller values: at most {}", limit));
    }
    if (advances[s] > 0) iterations = std::min(iterations, (limit - largest[s]) / advances[s] + 1);
  }
  return iterations;
}

}  // namespace cortado::device
