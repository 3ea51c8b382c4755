#include "plan/collective/schedule.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cortado/program.hpp"

#include "base/check.hpp"
#include "base/text.hpp"
#include "ir/visit.hpp"
#include "verify/packet_space.hpp"

namespace cortado::plan {
namespace {

// The engine that the published back-to-back measurements used on MI300X.
constexpr EngineId kBackToBackEngine{8};

// The kernel of a rank that kernel_part adds to.
constexpr const char* kKernel = "cores";

// From this size on, a copy within a GPU does not share a queue towards a peer: ROCr also treats copies of 1 MiB and
// more separately.
constexpr Bytes kLeastOfItsOwn = 1_MiB;
constexpr double kKeepsUp = 0.8;

/// Calls body(offset, bytes) for the pieces of a move of `total` bytes. Pieces are multiples of `granule` except the
/// last.
template <class Body>
void for_each_piece(Bytes total, Bytes limit, Bytes granule, Body&& body) {
  const std::uint64_t piece = limit.value / granule.value * granule.value;
  CORTADO_CHECK(piece > 0, "a packet holds at least one granule");
  for (std::uint64_t offset = 0; offset < total.value; offset += piece) {
    body(Bytes{offset}, Bytes{std::min(piece, total.value - offset)});
  }
}

// Pieces of copies start at multiples of this, which keeps elements whole and the engines in their fast dword mode.
constexpr Bytes kCopyGranule{4};

/// There are many names of queues and signals: numbers are appended without formatting.
void append_number(std::string& name, std::uint64_t number) {
  const fmt::format_int digits(number);
  name.append(digits.data(), digits.size());
}

bool is_strided(const Region& region) {
  return region.rows > 1 && region.pitch != region.width;
}

/// The element of a strided copy: the largest power of two up to 16 that divides all numbers in its packet.
Bytes window_element(const Region& src, const Region& dst) {
  const std::uint64_t all =
      16 | src.width.value | src.pitch.value | dst.pitch.value | src.offset.value | dst.offset.value;
  return Bytes{all & (~all + 1)};
}

}  // namespace

// --- Lane ------------------------------------------------------------------------------------------------------------

void Lane::copy(const Region& src, const Region& dst) {
  if (!schedule_->lanes_[index_].engine) {  // no packets, no limit
    if (src.bytes().value > 0) schedule_->append(index_, Copy{src, dst});
    return;
  }
  if (is_strided(src) || is_strided(dst)) return copy_windows(src, dst);
  for_each_piece(src.bytes(), schedule_->machine_->dma.max_copy_bytes, kCopyGranule, [&](Bytes offset, Bytes bytes) {
    schedule_->append(index_, Copy{slice(src, offset, bytes), slice(dst, offset, bytes)});
  });
}

void Lane::copy_windows(const Region& src, const Region& dst) {
  const DmaLimits& dma = schedule_->machine_->dma;
  const Bytes element = window_element(src, dst);
  const bool aligned = element >= dma.window_alignment;
  if (!aligned || std::max(src.pitch, dst.pitch) > element * dma.max_pitch_elements) {
    schedule_->refuse("plan.window",
                      fmt::format("no strided copy has rows of {} bytes, {} and {} bytes apart", src.width.value,
                                  src.pitch.value, dst.pitch.value),
                      "use rows and row distances that are multiples of 16 bytes");
    return;
  }
  const auto window = [](const Region& whole, std::uint64_t row, std::uint64_t rows, Bytes column, Bytes width) {
    return Region{whole.buffer, whole.row_offset(row) + column, width, rows, rows == 1 ? Bytes{} : whole.pitch};
  };
  const Bytes widest = element * dma.max_window_elements;
  for (std::uint64_t row = 0; row < src.rows; row += dma.max_window_elements) {
    const std::uint64_t rows = std::min(dma.max_window_elements, src.rows - row);
    for_each_piece(src.width, widest, element, [&](Bytes column, Bytes width) {
      schedule_->append(index_, Copy{window(src, row, rows, column, width), window(dst, row, rows, column, width)});
    });
  }
}

void Lane::add(const Region& src, const Region& dst, DType dtype) {
  for_each_piece(src.bytes(), schedule_->machine_->dma.max_copy_bytes, kCopyGranule, [&](Bytes offset, Bytes bytes) {
    schedule_->append(index_, Copy{slice(src, offset, bytes), slice(dst, offset, bytes), CopyOp::add, dtype});
  });
}

void Lane::broadcast(const Region& src, const Region& dst1, const Region& dst2) {
  const Bytes alignment = schedule_->machine_->dma.broadcast_alignment;
  CORTADO_CHECK(dst1.offset.value % alignment.value == dst2.offset.value % alignment.value,
                "both destinations of a broadcast have the same offset modulo its alignment");
  for_each_piece(src.bytes(), schedule_->machine_->dma.max_copy_bytes, kCopyGranule, [&](Bytes offset, Bytes bytes) {
    schedule_->append(index_,
                      Broadcast{slice(src, offset, bytes), slice(dst1, offset, bytes), slice(dst2, offset, bytes)});
  });
}

void Lane::multicast(const Region& src, const std::vector<Region>& destinations) {
  for_each_piece(src.bytes(), schedule_->machine_->dma.max_copy_bytes, kCopyGranule, [&](Bytes offset, Bytes bytes) {
    for (const Region& dst : destinations) {
      schedule_->append(index_, Copy{slice(src, offset, bytes), slice(dst, offset, bytes)});
    }
  });
  const auto& lane = schedule_->lanes_[index_];
  if (lane.queue) schedule_->builder_.packing(schedule_->queues_[*lane.queue].id, Packing::multicast);
}

void Lane::swap(const Region& a, const Region& b) {
  const DmaLimits& dma = schedule_->machine_->dma;
  for_each_piece(a.bytes(), dma.max_swap_bytes, dma.swap_alignment, [&](Bytes offset, Bytes bytes) {
    schedule_->append(index_, Swap{slice(a, offset, bytes), slice(b, offset, bytes)});
  });
}

void Lane::reduce(std::vector<Region> sources, const Region& dst, DType dtype, std::vector<Region> also) {
  kernel({KernelOp::reduce, std::move(sources), dst, dtype, {}, std::move(also)});
}

void Lane::multiply(Gemm gemm) {
  schedule_->append(index_, std::move(gemm));
}

void Lane::kernel(Kernel kernel) {
  schedule_->append(index_, std::move(kernel));
}

void Lane::wait(SignalId signal) {
  schedule_->append(index_, Wait{signal});
}

SignalId Lane::raise(std::optional<RankId> home) {
  return schedule_->raise(schedule_->open(schedule_->lanes_[index_]), home);
}

// --- Schedule --------------------------------------------------------------------------------------------------------

Schedule::Schedule(CollectiveRequest request, const Machine& machine)
    : request_(std::move(request)),
      machine_(&machine),
      engines_for_peers_(machine.present_engines(EngineClass::peer)),
      dealt_(request_.ranks),
      builder_(fmt::format("{} {}{}, {}", request_.collective, request_.variant, request_.prelaunch ? " prelaunch" : "",
                           format_bytes(request_.bytes)),
               machine.name, request_.ranks) {
  for (std::uint32_t a = 0; a < request_.ranks; ++a) {
    for (std::uint32_t b = 0; b < request_.ranks; ++b) all_linked_ = all_linked_ && (a == b || machine.linked[a][b]);
  }
  if (engines_for_peers_.empty()) engines_for_peers_ = machine.present_engines(EngineClass::host);
}

std::vector<RankId> Schedule::ranks() const {
  std::vector<RankId> all;
  for (std::uint32_t i = 0; i < request_.ranks; ++i) all.push_back({i});
  return all;
}

std::vector<RankId> Schedule::peers_after(RankId rank) const {
  std::vector<RankId> peers;
  for (std::uint32_t i = 1; i < request_.ranks; ++i) peers.push_back({(rank.value + i) % request_.ranks});
  return peers;
}

std::vector<RankId> Schedule::peers_ascending(RankId rank) const {
  std::vector<RankId> peers = ranks();
  std::erase(peers, rank);
  return peers;
}

Region Schedule::buffer(std::string_view kind, RankId rank, Bytes size, BufferRole role) {
  if (size.value == 0) return make_region({}, {}, {});
  return make_region(builder_.buffer(fmt::format("{}{}", kind, rank.value), rank, size, role), {}, size);
}

Lane Schedule::lane(RankId rank, EngineId engine) {
  lanes_.push_back({rank, engine});
  return {*this, lanes_.size() - 1};
}

EngineId Schedule::engine_towards(RankId rank, RankId peer) {
  if (!machine_->affinity.empty() && machine_->affinity[rank.value][peer.value]) {
    return machine_->engine_towards(rank, peer);
  }
  auto& [of_peer, given] = dealt_[rank.value];
  of_peer.resize(request_.ranks);
  auto& engine = of_peer[peer.value];
  if (!engine) engine = engines_for_peers_[given++ % engines_for_peers_.size()];
  return *engine;
}

Lane Schedule::lane_towards(RankId rank, RankId peer) {
  const RankId by = through_others_ ? mover_towards(rank, peer) : rank;
  return lane(by, engine_towards(by, peer));
}

RankId Schedule::mover_towards(RankId rank, RankId peer) {
  if (machine_->linked[rank.value][peer.value]) return rank;
  moves_for_others_.resize(request_.ranks);
  std::optional<RankId> best;
  for (const RankId by : ranks()) {
    const std::vector<bool>& reached = machine_->linked[by.value];
    if (!reached[rank.value] || !reached[peer.value]) continue;
    if (!best || moves_for_others_[by.value] < moves_for_others_[best->value]) best = by;
  }
  if (!best) return rank;
  ++moves_for_others_[best->value];
  return *best;
}

Lane Schedule::compute_lane(RankId rank) {
  lanes_.push_back({rank, {}});
  return {*this, lanes_.size() - 1};
}

Lane Schedule::kernel_part(RankId rank, std::string_view part, std::uint32_t compute_units, std::uint32_t calls) {
  lanes_.push_back({rank, {}, {}, std::string(part), compute_units, calls});
  return {*this, lanes_.size() - 1};
}

Lane Schedule::library_part(RankId rank, std::string_view part, std::uint32_t compute_units, Protocol protocol,
                            std::uint32_t calls, Bytes chunk) {
  lanes_.push_back({rank, {}, {}, std::string(part), compute_units, calls, protocol, chunk});
  return {*this, lanes_.size() - 1};
}

std::uint32_t Schedule::compute_units() const {
  return request_.compute_units == 0 ? machine_->compute_units : request_.compute_units;
}

std::vector<Lane> Schedule::back_to_back_lanes(RankId rank, const std::vector<RankId>& peers) {
  const std::size_t ways = request_.ways == 0 ? peers.size() : request_.ways;
  std::vector<Lane> lanes;
  for (std::size_t i = 0; i < peers.size(); ++i) {
    if (i % ways != 0) {
      lanes.push_back(lanes.back());
    } else if (peers.size() > ways) {
      lanes.push_back(lane_towards(rank, peers[i]));
    } else {
      const std::vector<EngineId> engines = machine_->present_engines(EngineClass::peer);
      const bool has_default = std::find(engines.begin(), engines.end(), kBackToBackEngine) != engines.end();
      lanes.push_back(lane(rank, has_default ? kBackToBackEngine : engine_towards(rank, peers[i])));
    }
  }
  return lanes;
}

void Schedule::copy_locally(RankId rank, const Region& src, const Region& dst) {
  const auto ridden = local_lane_.find(rank);
  const bool on_cores = ridden != local_lane_.end() && !lanes_[ridden->second].engine;
  if (on_cores || (ridden != local_lane_.end() && src.bytes() < kLeastOfItsOwn)) {
    Lane(*this, ridden->second).copy(src, dst);
    return;
  }
  if (ridden != local_lane_.end() && !engines_keep_up()) {
    compute_lane(rank).copy(src, dst);
    return;
  }
  std::vector<EngineId> engines = machine_->present_engines(EngineClass::host);
  if (engines.empty()) engines = machine_->present_engines(EngineClass::peer);
  lane(rank, engines.front()).copy(src, dst);
}

/// Whether an engine copies a block within its GPU in little more time than a block takes to the peers.
bool Schedule::engines_keep_up() const {
  if (!machine_->timing) return true;
  const Timing& timing = *machine_->timing;
  const std::uint32_t sharing = timing.link.shape == LinkShape::switched ? request_.ranks - 1 : 1;
  return timing.engine.local_rate.value >= kKeepsUp * timing.link.rate.value / sharing;
}

Result<Program> Schedule::finish(Contract contract) {
  check_memory();
  std::stable_sort(queues_.begin(), queues_.end(),
                   [](const QueueState& a, const QueueState& b) { return a.rank < b.rank; });
  HostFrame frame{*request_.host, exit_barrier_, triggers_, {}, only_ ? std::vector{*only_} : participants(), waits_};
  for (QueueState& queue : queues_) {
    const bool on_engine = builder_.peek().queue(queue.id).kind == QueueKind::dma;
    frame.queues.push_back(
        {queue.id, queue.rank, last_signal(queue), request_.prelaunch || (engines_ahead_ && on_engine)});
  }
  if (!gates_.empty() || kernels_ring()) frame.queues = coordinate(frame.queues, only_ ? ranks() : frame.participants);
  if (error_) return fail(*std::move(error_));
  frame.exit_barrier = exit_barrier_;
  hosts_ = add_host_queues(builder_, frame);
  builder_.contract(std::move(contract));
  return std::move(builder_).finish();
}

/// Those with memory that the collective uses, and those that move bytes for others.
std::vector<RankId> Schedule::participants() const {
  std::vector<RankId> all;
  for (const Buffer& buffer : builder_.peek().buffers) all.push_back(buffer.rank);
  for (const QueueState& queue : queues_) all.push_back(queue.rank);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

/// The signal that tells that a queue is done. A coordinator on an engine for the host reaches no memory of other GPUs.
SignalId Schedule::last_signal(QueueState& queue) {
  if (!queue.last_signal) return raise(queue);
  const std::optional<RankId> home = builder_.peek().signals[queue.last_signal->value].home;
  const bool reached = !home || *home == queue.rank || !has_coordinators() ||
                       machine_->engine(coordinator_engine())->kind != EngineClass::host;
  return reached ? *queue.last_signal : raise(queue);
}

void Schedule::append(std::size_t lane, Command&& command) {
  if (error_) return;
  check_links(lanes_[lane].rank, command);
  QueueState& queue = open(lanes_[lane]);
  push(queue, std::move(command));
  queue.last_signal.reset();
}

void Schedule::push(QueueState& queue, Command&& command) {
  const bool on_ring = builder_.peek().queue(queue.id).kind == QueueKind::dma;
  if (on_ring) queue.ring_dwords += packet_dwords(command, machine_->dma);
  builder_.add(queue.id, std::move(command));
  // A full ring would be indistinguishable from an empty one.
  if (on_ring && Bytes{queue.ring_dwords * 4} >= machine_->dma.ring_bytes) {
    refuse("plan.ring",
           fmt::format("the packets of one iteration do not fit in a ring of {} (queue {})",
                       format_bytes(machine_->dma.ring_bytes), builder_.peek().queue(queue.id).name),
           "use fewer bytes, or a machine with a larger dma.ring_bytes or dma.max_copy_bytes");
  }
}

Schedule::QueueState& Schedule::open(LaneState& lane) {
  if (lane.queue) return queues_[*lane.queue];
  if (lane.engine) {
    lane.queue = open_dma_queue(lane.rank, *lane.engine);
    local_lane_.try_emplace(lane.rank, static_cast<std::size_t>(&lane - lanes_.data()));
  } else {
    const bool part = !lane.part.empty();
    std::string name =
        part ? fmt::format("{}{}.{}", kKernel, lane.rank.value, lane.part) : fmt::format("compute{}", lane.rank.value);
    const QueueId id = builder_.compute_queue(std::move(name), lane.rank, 0, lane.compute_units,
                                              part ? kKernel : std::string(), lane.calls);
    builder_.protocol(id, lane.protocol, lane.chunk);
    queues_.push_back({id, lane.rank});
    lane.queue = queues_.size() - 1;
  }
  return queues_[*lane.queue];
}

std::size_t Schedule::open_dma_queue(RankId rank, EngineId engine) {
  if (const Engine* found = machine_->engine(engine); found == nullptr || !found->present) {
    refuse("plan.engine", fmt::format("machine {} has no DMA engine {}", machine_->name, engine.value),
           "the machine's affinity table names a missing engine: correct the machine file");
  }
  EngineUse& use = engines_[{rank, engine}];
  const std::size_t slots = std::max<std::size_t>(machine_->dma.queues_per_engine, 1);
  const std::size_t slot = use.lanes++ % slots;
  if (slot < use.queues.size()) return use.queues[slot];

  std::string name = "dma";
  append_number(name, rank.value);
  append_number(name.append("."), engine.value);
  if (slot > 0) append_number(name.append("."), slot);
  queues_.push_back({builder_.dma_queue(std::move(name), rank, engine), rank});
  if (machine_->features.fused_packets) builder_.packing(queues_.back().id, Packing::fused);
  use.queues.push_back(queues_.size() - 1);
  if (request_.prelaunch) push(queues_.back(), Wait{trigger(queues_.back())});
  if (request_.runtime != RuntimeMode::raw && !kernels_ring()) push(queues_.back(), Wait{gate(rank)});
  return use.queues.back();
}

SignalId Schedule::raise(QueueState& queue, std::optional<RankId> home) {
  std::string name = builder_.peek().queue(queue.id).name;  // most names are so short that strings need no memory
  append_number(name.append(".done"), queue.signals++);
  const SignalId signal = builder_.signal(std::move(name), home);
  push(queue, Signal{signal});
  queue.last_signal = signal;
  return signal;
}

SignalId Schedule::trigger(const QueueState& queue) {
  const std::optional<RankId> host = request_.host == HostThreads::single ? std::optional<RankId>{} : queue.rank;
  std::string name = host ? fmt::format("trigger{}", host->value) : "trigger";
  if (request_.trigger_words == TriggerWords::per_queue) {
    name = builder_.peek().queue(queue.id).name + ".trigger";
  } else {
    const auto known = std::find_if(triggers_.begin(), triggers_.end(),
                                    [&](const HostTrigger& trigger) { return trigger.host == host; });
    if (known != triggers_.end()) return known->signal;
  }
  triggers_.push_back({host, builder_.signal(std::move(name))});
  return triggers_.back().signal;
}

void Schedule::refuse(std::string code, std::string message, std::string hint) {
  if (!error_) error_ = Diagnostic{std::move(code), std::move(message), std::move(hint), {}, About::machine};
}

void Schedule::check_links(RankId rank, const Command& command) {
  if (all_linked_) return;
  for (const Access& access : accesses(command)) {
    const RankId owner = builder_.peek().buffer(access.region.buffer).rank;
    if (owner == rank || machine_->linked[rank.value][owner.value]) continue;
    refuse("plan.link",
           fmt::format("GPU {} of {} cannot address the memory of GPU {}", rank.value, machine_->name, owner.value),
           "pcpy, swap, cores-ll, cores-simple, sends and serial-dma go through a third GPU if one has links to both; "
           "rings only need neighbours; or use ranks that are all linked, such as --ranks 2");
  }
}

std::vector<std::uint64_t> Schedule::memory_by_rank() const {
  std::vector<std::uint64_t> need(request_.ranks, 0);
  for (const Buffer& buffer : builder_.peek().buffers) need[buffer.rank.value] += buffer.size.value;
  return need;
}

Bytes Schedule::footprint() const {
  const std::vector<std::uint64_t> need = memory_by_rank();
  return need.empty() ? Bytes{} : Bytes{*std::max_element(need.begin(), need.end())};
}

void Schedule::check_memory() {
  const std::vector<std::uint64_t> need = memory_by_rank();
  const auto most = std::max_element(need.begin(), need.end());
  if (most == need.end() || Bytes{*most} <= machine_->memory_bytes) return;
  refuse("plan.size",
         fmt::format("{} {} of {} needs {} of memory on GPU {}; {} has {} per GPU", request_.collective,
                     request_.variant, format_bytes(request_.bytes), readable_bytes(Bytes{*most}), most - need.begin(),
                     machine_->name, readable_bytes(machine_->memory_bytes)),
         "use fewer bytes");
}

}  // namespace cortado::plan
