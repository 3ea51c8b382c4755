#include "sim/gpu/machine_resources.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.hpp"
#include "gemm/kernels.hpp"
#include "ir/visit.hpp"
#include "sim/gpu/protocols.hpp"

namespace cortado::sim {

bool multiplies(const Queue& queue) {
  const auto is_product = [](const Command& command) { return std::holds_alternative<Gemm>(command); };
  return queue.kind == QueueKind::compute && std::any_of(queue.commands.begin(), queue.commands.end(), is_product);
}

MachineResources::MachineResources(const Machine& machine, const Program& program, FluidSystem& fluid, bool managed)
    : machine_(machine),
      timing_(*machine.timing),
      program_(program),
      fluid_(fluid),
      host_links_(timing_, program.ranks, fluid),
      managed_(managed),
      uncached_(program.buffers.size(), timing_.compute && timing_.compute->stages),
      memory_updates_(machine.features.tracker || timing_.memory.update_cost != 1) {
  for (const Tracker& tracker : program.trackers) uncached_[tracker.region.buffer.value] = true;
  if (timing_.link.shape == LinkShape::mesh) {
    links_.resize(std::size_t{program.ranks} * program.ranks);
  } else {
    for (std::uint32_t rank = 0; rank < program.ranks; ++rank) {
      egress_.push_back(fluid.add_resource(timing_.link.rate.bytes_per_second()));
      ingress_.push_back(fluid.add_resource(timing_.link.rate.bytes_per_second()));
    }
  }
  for (const Engine& engine : machine.engines) engine_ids_ = std::max<std::size_t>(engine_ids_, engine.id.value + 1);
  engines_.resize(engine_ids_ * program.ranks);
  detours_.resize(program.ranks);
  add_memories();
}

void MachineResources::add_memories() {
  std::vector<std::uint64_t> footprint(program_.ranks, 0);
  for (const Buffer& buffer : program_.buffers) {
    if (!buffer.host) footprint[buffer.rank.value] += buffer.size.value;
  }
  std::vector<double> uncached(program_.ranks, 0);
  for (std::uint32_t i = 0; i < program_.buffers.size(); ++i) {
    if (uncached_[i]) uncached[program_.buffers[i].rank.value] = 1;
  }
  const std::vector<double> demands = greatest_demands();
  const auto cached = static_cast<double>(timing_.memory.cache_bytes.value);
  const auto unless_ample = [&](GBps rate, double demand) -> std::optional<ResourceId> {
    if (rate.bytes_per_second() >= demand && !managed_) return std::nullopt;
    return fluid_.add_resource(rate.bytes_per_second());
  };
  for (std::uint32_t rank = 0; rank < program_.ranks; ++rank) {
    MemoryOfRank& memory = memories_.emplace_back();
    if (cached > 0) {
      const auto bytes = static_cast<double>(std::max<std::uint64_t>(footprint[rank], 1));
      memory.miss_share = 1 - std::min(1.0, cached / bytes);
      memory.cache = unless_ample(timing_.memory.cache_rate, demands[rank]);
    }
    const bool products = std::isinf(demands[rank]);
    if (products || (managed_ && timing_.compute)) add_fabric({rank});
    memory.memory = unless_ample(
        timing_.memory.rate, products ? demands[rank] : demands[rank] * std::max(uncached[rank], memory.miss_share));
  }
}

void MachineResources::add_fabric(RankId rank) {
  MemoryOfRank& memory = memories_[rank.value];
  const double links = link_rate(rank);
  memory.fabric = fluid_.add_resource(1);
  memory.fabric_per_byte = links > 0 ? timing_.compute->fabric_links / links : 0;
}

double MachineResources::link_rate(RankId rank) const {
  std::uint32_t links = 0;
  for (std::uint32_t peer = 0; peer < program_.ranks; ++peer) {
    if (peer != rank.value) links += link_count(rank, {peer}) + link_count({peer}, rank);
  }
  if (timing_.link.shape == LinkShape::switched) links = std::min(links, 2U);
  return links * timing_.link.rate.bytes_per_second();
}

/// What arrives over the links may be added, which reads and writes; what leaves is read. In addition there is what
/// engines and compute units read, and write or add, without a link. GEMMs can fill any memory.
std::vector<double> MachineResources::greatest_demands() const {
  constexpr double kOut = 1;
  const double in = std::max(2.0, update_cost());
  const double within = 1 + in;
  std::vector<double> demands(program_.ranks, 0);
  for (std::uint32_t rank = 0; rank < program_.ranks; ++rank) {
    double links = timing_.link.shape == LinkShape::switched ? kOut + in : 0;
    if (links == 0) {
      for (std::uint32_t peer = 0; peer < program_.ranks; ++peer) {
        links += kOut * link_count({rank}, {peer}) + in * link_count({peer}, {rank});
      }
    }
    demands[rank] += links * timing_.link.rate.bytes_per_second();
    if (timing_.host_link) {
      demands[rank] +=
          in * timing_.host_link->to_gpu.bytes_per_second() + kOut * timing_.host_link->from_gpu.bytes_per_second();
    }
  }
  const EngineTiming& engine = timing_.engine;
  const double engine_rate = std::max({engine.rate, engine.local_rate, engine.broadcast_rate}).bytes_per_second();
  for (const Queue& queue : program_.queues) {
    if (queue.kind == QueueKind::host) continue;
    if (multiplies(queue)) {
      demands[queue.rank->value] = std::numeric_limits<double>::infinity();
    }
    const double units = queue.compute_units.value_or(machine_.compute_units);
    const double rate =
        queue.kind == QueueKind::dma ? engine_rate : units * timing_.cores.local_rate.bytes_per_second();
    const auto is_within = [&](const Command& command) { return moves_within(*queue.rank, command); };
    if (std::any_of(queue.commands.begin(), queue.commands.end(), is_within)) {
      demands[queue.rank->value] += within * rate;
    }
  }
  return demands;
}

bool MachineResources::leaves(RankId gpu, const Command& command) const {
  bool leaves = false;
  for_each_access(command, [&](const Region& region, AccessKind) { leaves = leaves || rank_of(region) != gpu; });
  return leaves;
}

bool MachineResources::moves_within(RankId gpu, const Command& command) const {
  const auto here = [&](const Region& region) { return rank_of(region) == gpu; };
  return match(
      command, [&](const Copy& copy) { return is_local(gpu, copy); },
      [&](const Swap& swap) { return here(swap.a) && here(swap.b); },
      [&](const Broadcast& b) { return here(b.src) && (here(b.dst1) || here(b.dst2)); },
      [](const Kernel&) { return true; }, [](const Call&) { return true; }, [](const auto&) { return false; });
}

UseList& MachineResources::move_by_engine(RankId gpu, EngineId engine_id, const Command& command) {
  if (const auto* copy = std::get_if<Copy>(&command)) return copy_by_engine(gpu, engine_id, *copy);
  if (const auto* swap = std::get_if<Swap>(&command)) return swap_by_engine(gpu, engine_id, *swap);
  return broadcast_by_engine(gpu, engine_id, std::get<Broadcast>(command));
}

UseList& MachineResources::copy_by_engine(RankId gpu, EngineId engine_id, const Copy& copy) {
  const RankId from = rank_of(copy.src);
  const RankId to = rank_of(copy.dst);
  uses_.clear();
  const bool engine_adds = copy.op == CopyOp::add && !machine_.features.near_memory_compute;
  const double share = engine_share(gpu, engine_id, from, to);
  uses_.add(
      engine(gpu, engine_id),
      engine_adds ? std::max(share, engine_rate(gpu) / machine_.features.engine_add->rate.bytes_per_second()) : share);
  add_engine_path(gpu, engine_id, from, gpu);
  add_engine_path(gpu, engine_id, gpu, to);
  if (engine_adds) add_engine_path(gpu, engine_id, to, gpu);  // reads what it adds to
  add_memory(copy.src, 1, 0);
  add_write(copy.dst, copy.op);
  uses_.touch(gpu, Place::engine, 1);
  return uses_;
}

UseList& MachineResources::broadcast_by_engine(RankId gpu, EngineId engine_id, const Broadcast& broadcast) {
  const RankId from = rank_of(broadcast.src);
  uses_.clear();
  uses_.add(engine(gpu, engine_id), is_host(from)
                                        ? engine_share(gpu, engine_id, from, gpu)
                                        : 2 * timing_.engine.rate.value / timing_.engine.broadcast_rate.value);
  add_engine_path(gpu, engine_id, from, gpu);  // read once for both
  add_memory(broadcast.src, 1, 0);
  for (const Region* dst : {&broadcast.dst1, &broadcast.dst2}) {
    add_engine_path(gpu, engine_id, gpu, rank_of(*dst));
    add_memory(*dst, 0, 1);
  }
  uses_.touch(gpu, Place::engine, 2);
  return uses_;
}

UseList& MachineResources::multicast_by_engine(RankId gpu, EngineId engine_id, std::span<const Command> copies) {
  const Region& src = std::get<Copy>(copies.front()).src;
  const RankId from = rank_of(src);
  const double share = is_host(from) ? engine_share(gpu, engine_id, from, gpu) : 0;
  uses_.clear();
  uses_.add(engine(gpu, engine_id),
            std::max(share, engine_rate(gpu) / machine_.features.multicast->rate.bytes_per_second()));
  add_engine_path(gpu, engine_id, from, gpu);  // read once for all
  add_memory(src, 1, 0);
  for (const Command& command : copies) {
    const Region& dst = std::get<Copy>(command).dst;
    add_engine_path(gpu, engine_id, gpu, rank_of(dst));
    add_memory(dst, 0, 1);
  }
  uses_.touch(gpu, Place::engine, static_cast<double>(copies.size()));
  return uses_;
}

UseList& MachineResources::swap_by_engine(RankId gpu, EngineId engine_id, const Swap& swap) {
  const RankId a = rank_of(swap.a);
  const RankId b = rank_of(swap.b);
  uses_.clear();
  uses_.add(engine(gpu, engine_id), 2);
  for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
    add_engine_path(gpu, engine_id, from, gpu);
    add_engine_path(gpu, engine_id, gpu, to);
  }
  add_memory(swap.a, 1, 1);
  add_memory(swap.b, 1, 1);
  uses_.touch(gpu, Place::engine, 2);
  return uses_;
}

UseList& MachineResources::copy_by_cores(RankId gpu, const Copy& copy, Protocol protocol) {
  const RankId from = rank_of(copy.src);
  const RankId to = rank_of(copy.dst);
  const double wire = 1 / wire_efficiency(protocol, timing_);
  uses_.clear();
  add_path(from, gpu, wire, true);
  add_path(gpu, to, wire, true);
  add_memory(copy.src, 1, 0);
  add_memory(copy.dst, copy.op == CopyOp::add ? 1 : 0, 1);
  add_fabric_of_units(gpu, from, to, wire);
  uses_.touch(gpu, Place::l2, 2);
  return uses_;
}

/// Per byte of the result, one byte of every operand.
UseList& MachineResources::call_by_cores(RankId gpu, const Call& call) {
  uses_.clear();
  const auto written = static_cast<double>(call.result.bytes().value);
  double touches = 1;
  for (const Region& operand : call.operands) {
    const double reads = static_cast<double>(operand.bytes().value) / written;
    add_path(rank_of(operand), gpu, reads);
    add_memory(operand, reads, 0);
    touches += reads;
  }
  add_path(gpu, rank_of(call.result), 1);
  add_memory(call.result, 0, 1);
  uses_.touch(gpu, Place::l2, touches);
  return uses_;
}

UseList& MachineResources::kernel_by_cores(RankId gpu, const Kernel& kernel, Protocol protocol) {
  if (multicast_of(protocol, timing_) != nullptr) return multicast(gpu, kernel);
  const RankId to = rank_of(kernel.dst);
  const double wire = 1 / wire_efficiency(protocol, timing_);
  uses_.clear();
  double reads = 0;  // of the destination's memory
  for (const Region& source : kernel.sources) {
    const RankId from = rank_of(source);
    add_path(from, gpu, wire);
    if (from == to) {
      reads += 1;
    } else {
      add_memory(source, 1, 0);
    }
  }
  add_path(gpu, to, wire);
  add_memory(kernel.dst, reads, 1);
  for (const Region& source : kernel.sources) add_fabric_of_units(gpu, rank_of(source), gpu, wire);
  add_fabric_of_units(gpu, gpu, to, wire);
  for (const Region& also : kernel.also) {
    add_path(gpu, rank_of(also), wire);
    add_memory(also, 0, 1);
    add_fabric_of_units(gpu, gpu, rank_of(also), wire);
  }
  uses_.touch(gpu, Place::l2, static_cast<double>(kernel.sources.size() + kernel.also.size()) + 1);
  return uses_;
}

/// Every GPU sends its term to the switch; the GPU that executes gets the sum back and sends it once, and every GPU
/// receives it.
UseList& MachineResources::multicast(RankId gpu, const Kernel& kernel) {
  const double wire = 1 / wire_efficiency(Protocol::multicast, timing_);
  uses_.clear();
  for (const Region& source : kernel.sources) {
    add_port(egress_, rank_of(source), wire);
    add_memory(source, 1, 0);
  }
  add_port(ingress_, gpu, wire);
  add_port(egress_, gpu, wire);
  const auto arrive = [&](const Region& region) {
    add_port(ingress_, rank_of(region), wire);
    add_memory(region, 0, 1);
  };
  arrive(kernel.dst);
  for (const Region& also : kernel.also) arrive(also);
  const MemoryOfRank& memory = memories_[gpu.value];
  const double more = timing_.compute ? timing_.compute->fabric_cores - 1 : 0;
  if (memory.fabric) uses_.add(*memory.fabric, 2 * more * memory.fabric_per_byte * wire);
  uses_.touch(gpu, Place::l2, 2);
  return uses_;
}

void MachineResources::add_port(const std::vector<ResourceId>& ports, RankId gpu, double factor) {
  const MemoryOfRank& memory = memories_[gpu.value];
  if (memory.fabric) uses_.add(*memory.fabric, factor * memory.fabric_per_byte * memory.mixing);
  uses_.touch(gpu, Place::link, 1);
  uses_.add(ports[gpu.value], factor);
}

/// Ports that all GPUs share evenly carry (terms + 1) bytes for each byte of a GPU's part; in addition, every loop
/// costs its time, which is given for 8 GPUs: a loop has a chunk of each of them.
double MachineResources::rate_of_multicast(const Kernel& kernel, double loop_bytes) const {
  constexpr double kGpusOfLoop = 8;
  const MulticastTiming& multicast = *timing_.library->multicast;
  const double terms = static_cast<double>(kernel.sources.size());
  const double port = timing_.link.rate.bytes_per_second() * multicast.wire_efficiency;
  const double loop = to_seconds(to_sim_time(multicast.loop)) * terms / kGpusOfLoop;
  return 1 / ((terms + 1) / port + loop / loop_bytes);
}

/// A Kernel reads and writes in its own memory, and also sends and fetches over links, with all of its units: the
/// slower of the two decides. What a Copy over a link reads or writes locally is included in its copy_rate.
double MachineResources::rate_of_units(RankId gpu, const Command& command, double units, Protocol protocol) const {
  if (const ProtocolTiming* library = timing_of(protocol, timing_)) {
    return units * (leaves(gpu, command) ? library->unit_rate : library->local_rate).bytes_per_second();
  }
  const double local = units * timing_.cores.local_rate.bytes_per_second();
  if (const auto* copy = std::get_if<Copy>(&command)) {
    if (is_local(gpu, *copy)) return local;
    return rate_over_link(gpu, rank_of(copy->dst) == gpu ? rank_of(copy->src) : rank_of(copy->dst), units);
  }
  if (const auto* call = std::get_if<Call>(&command)) {
    const double all = static_cast<double>(call->operands.size() + 1);  // regions of about the same size
    if (!check_kernels(machine_)) return local / all;
    const double share = units / static_cast<double>(machine_.compute_units);
    return share * static_cast<double>(call->result.bytes().value) / call_seconds(*call, machine_);
  }
  const auto& kernel = std::get<Kernel>(command);
  double rate = std::numeric_limits<double>::infinity();
  double here = 0;
  double beyond = 0;
  const auto count = [&](const Region& region) {
    const RankId rank = rank_of(region);
    if (rank == gpu) {
      here += 1;
    } else {
      beyond += 1;
      rate = std::min(rate, rate_over_link(gpu, rank, units));
    }
  };
  for (const Region& source : kernel.sources) count(source);
  count(kernel.dst);
  if (beyond > 0) rate /= beyond;
  return here > 0 ? std::min(rate, local / here) : rate;
}

double MachineResources::rate_over_link(RankId gpu, RankId peer, double units) const {
  const double by_units = units * timing_.cores.copy_rate.bytes_per_second();
  const double sharpness = timing_.cores.sharpness;
  if (sharpness == 0 || units == 0 || is_host(peer)) return by_units;
  const std::uint32_t links = timing_.link.shape == LinkShape::switched ? 1 : link_count(gpu, peer);
  const double by_link = links * timing_.link.rate.bytes_per_second() * timing_.cores.wire_efficiency;
  return by_units / std::pow(1 + std::pow(by_units / by_link, sharpness), 1 / sharpness);
}

double MachineResources::fabric_of_products(double units, double memory_load) const {
  return std::max(timing_.compute->fabric_products * units, memory_load / timing_.memory.rate.bytes_per_second());
}

UseList& MachineResources::product_by_cores(RankId gpu, const ProductUse& use) {
  const MemoryOfRank& memory = memories_[gpu.value];
  uses_.clear();
  if (memory.fabric) uses_.add(*memory.fabric, use.fabric_share);
  if (memory.cache) uses_.add(*memory.cache, use.cache_bytes);
  if (memory.memory) uses_.add(*memory.memory, use.memory_load);
  uses_.count_memory(use.memory_bytes - use.memory_writes, use.memory_writes);
  uses_.touch(gpu, Place::l2, use.cache_bytes);
  uses_.touch(gpu, Place::cache, use.cache_bytes);
  uses_.touch(gpu, Place::memory, use.memory_bytes);
  return uses_;
}

UseList& MachineResources::reads_by_cores(RankId gpu) {
  return product_by_cores(gpu, {.memory_load = 1, .memory_bytes = 1});
}

UseList& MachineResources::stores_by_cores(RankId gpu, const Region& region, CopyOp op, double writes, double reads) {
  const RankId to = rank_of(region);
  const MemoryOfRank& memory = memories_[to.value];
  uses_.clear();
  add_path(gpu, to, 1 / timing_.cores.wire_efficiency);
  add_fabric_of_units(gpu, gpu, to, 1 / timing_.cores.wire_efficiency);
  if (memory.memory) uses_.add(*memory.memory, reads + writes * (op == CopyOp::add ? update_cost() : 1));
  uses_.count_memory(reads, writes);
  uses_.touch(gpu, Place::l2, reads + writes);
  uses_.touch(to, Place::memory, reads + writes);
  return uses_;
}

ResourceId MachineResources::engine(RankId gpu, EngineId id) {
  CORTADO_CHECK(id.value < engine_ids_, "a verified program names engines of its machine");
  auto& resource = engines_[gpu.value * engine_ids_ + id.value];
  if (!resource) {
    resource = fluid_.add_resource(engine_rate(gpu) * memories_[gpu.value].iod_clock);
  }
  return *resource;
}

void MachineResources::add_engine_path(RankId gpu, EngineId id, RankId from, RankId to) {
  if (from == to) return;
  add_path(from, to, 1);
  if (is_host(from) || is_host(to)) return;
  const double rate = timing_.engine.detour_rate.bytes_per_second();
  if (rate == 0 || machine_.affinity.empty() || detours_.empty()) return;
  const auto& best = machine_.affinity[gpu.value][(from == gpu ? to : from).value];
  if (!best || *best == id) return;
  auto& detour = detours_[gpu.value];
  if (!detour) detour = fluid_.add_resource(rate * memories_[gpu.value].iod_clock);
  uses_.add(*detour, 1);
}

/// Bytes that the cache does not hold take longer.
double MachineResources::weight_of(double bytes_per_second) const {
  return bytes_per_second / std::min(timing_.engine.rate, timing_.link.rate).bytes_per_second();
}

double MachineResources::engine_rate(RankId gpu) const {
  const EngineTiming& engine = timing_.engine;
  if (engine.uncached_rate.value == 0) return engine.rate.bytes_per_second();
  const double missed = memories_[gpu.value].miss_share;
  return 1e9 / ((1 - missed) / engine.rate.value + missed / engine.uncached_rate.value);
}

/// One end of a host link is a GPU.
double MachineResources::engine_share(RankId gpu, EngineId id, RankId from, RankId to) const {
  using enum HostLinks::Direction;
  if (is_host(from)) return engine_rate(gpu) / host_links_.engine_rate(id, to_gpu);
  if (is_host(to)) return engine_rate(gpu) / host_links_.engine_rate(id, from_gpu);
  return from == gpu && to == gpu ? timing_.engine.rate.value / timing_.engine.local_rate.value : 1;
}

void MachineResources::add_path(RankId from, RankId to, double factor, bool by_units) {
  if (from == to) return;
  if (is_host(from) || is_host(to)) {
    const RankId gpu = is_host(from) ? to : from;
    const MemoryOfRank& memory = memories_[gpu.value];
    if (memory.fabric) uses_.add(*memory.fabric, factor * memory.fabric_per_byte * memory.mixing);
    using enum HostLinks::Direction;
    return host_links_.add_link(uses_, gpu, is_host(from) ? to_gpu : from_gpu, by_units);
  }
  for (const RankId end : {from, to}) {
    const MemoryOfRank& memory = memories_[end.value];
    if (memory.fabric) uses_.add(*memory.fabric, factor * memory.fabric_per_byte * memory.mixing);
    uses_.touch(end, Place::link, 1);
  }
  if (timing_.link.shape == LinkShape::switched) {
    uses_.add(egress_[from.value], factor);
    uses_.add(ingress_[to.value], factor);
  } else {
    uses_.add(link(from, to), factor);
  }
}

/// What a byte sent by compute units takes beyond one sent by an engine.
void MachineResources::add_fabric_of_units(RankId gpu, RankId from, RankId to, double wire) {
  const MemoryOfRank& memory = memories_[gpu.value];
  if (!memory.fabric || from == to) return;
  const double more = timing_.compute->fabric_cores - 1;
  uses_.add(*memory.fabric, more * memory.fabric_per_byte * wire);
}

ResourceId MachineResources::link(RankId from, RankId to) {
  auto& resource = links_[std::size_t{from.value} * program_.ranks + to.value];
  if (!resource) {
    const std::uint32_t count = link_count(from, to);
    CORTADO_CHECK(count > 0, "a verified program uses links that exist");
    resource = fluid_.add_resource(timing_.link.rate.bytes_per_second() * count);
  }
  return *resource;
}

/// A topology may let only one of two GPUs address the other: what it reads comes back over the links that it has.
std::uint32_t MachineResources::link_count(RankId from, RankId to) const {
  const std::uint32_t count = machine_.link_count(from, to);
  return count > 0 ? count : machine_.link_count(to, from);
}

void MachineResources::add_memory(const Region& region, double reads, double writes, double write_cost) {
  if (const auto node = program_.buffer(region.buffer).host) {
    return host_links_.add_memory(uses_, *node, reads + writes);
  }
  const MemoryOfRank& memory = memories_[rank_of(region).value];
  const bool uncached = uncached_[region.buffer.value];
  const double miss_share = uncached ? 1 : memory.miss_share;
  const double touches = reads + writes * write_cost;
  if (memory.cache && !uncached) uses_.add(*memory.cache, touches);
  if (memory.memory) uses_.add(*memory.memory, touches * miss_share);
  uses_.count_memory(reads * miss_share, writes * miss_share);
  const RankId gpu = rank_of(region);
  const double in_cache = !uncached && timing_.memory.cache_bytes.value > 0 ? reads + writes : 0;
  const double in_memory = (reads + writes) * miss_share;
  uses_.touch(gpu, Place::cache, in_cache);
  uses_.touch(gpu, Place::memory, in_memory);
  if (in_cache + in_memory == 0) uses_.touch_nowhere(gpu);
}

void MachineResources::set_clocks(RankId gpu, double iod, double memory) {
  MemoryOfRank& of = memories_[gpu.value];
  of.iod_clock = iod;
  if (of.cache) fluid_.set_capacity(*of.cache, timing_.memory.cache_rate.bytes_per_second() * iod);
  if (of.fabric) fluid_.set_capacity(*of.fabric, iod);
  if (of.memory) fluid_.set_capacity(*of.memory, timing_.memory.rate.bytes_per_second() * memory);
  for (std::size_t i = 0; i < engine_ids_; ++i) {
    const auto& engine = engines_[gpu.value * engine_ids_ + i];
    if (engine) fluid_.set_capacity(*engine, engine_rate(gpu) * iod);
  }
  const auto detour = detours_.empty() ? std::nullopt : detours_[gpu.value];
  if (detour) fluid_.set_capacity(*detour, timing_.engine.detour_rate.bytes_per_second() * iod);
}

double MachineResources::use_of(const std::optional<ResourceId>& resource) const {
  if (!resource || fluid_.flow_count(*resource) == 0) return -1;
  return fluid_.load(*resource) / fluid_.capacity(*resource);
}

double MachineResources::iod_use(RankId gpu) const {
  const MemoryOfRank& of = memories_[gpu.value];
  double use = std::max({use_of(of.cache), use_of(of.fabric), use_of(detours_[gpu.value])});
  for (std::size_t i = 0; i < engine_ids_; ++i) use = std::max(use, use_of(engines_[gpu.value * engine_ids_ + i]));
  return use;
}

bool MachineResources::is_link(ResourceId resource) const {
  if (host_links_.is_link(resource)) return true;
  return std::ranges::find(links_, resource) != links_.end() || std::ranges::find(egress_, resource) != egress_.end() ||
         std::ranges::find(ingress_, resource) != ingress_.end();
}

double MachineResources::memory_use(RankId gpu) const {
  return use_of(memories_[gpu.value].memory);
}

/// An addition is done by the memory; if the machine does not give its cost, it reads what it writes.
void MachineResources::add_write(const Region& region, CopyOp op) {
  if (op == CopyOp::store) return add_memory(region, 0, 1);
  if (memory_updates_) return add_memory(region, 0, 1, update_cost());
  add_memory(region, 1, 1);
}

}  // namespace cortado::sim
