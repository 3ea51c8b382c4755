#include "sim/gpu/machine_resources.hpp"

#include <algorithm>

#include "cortado/base/check.hpp"

namespace cortado::sim {

MachineResources::MachineResources(const Machine& machine, const Program& program, FluidSystem& fluid)
    : machine_(machine), timing_(*machine.timing), program_(program), fluid_(fluid) {
  std::vector<std::uint64_t> footprint(program.ranks, 0);
  for (const Buffer& buffer : program.buffers) footprint[buffer.rank.value] += buffer.size.value;
  const auto cached = static_cast<double>(timing_.memory.cache_bytes.value);
  for (std::uint32_t rank = 0; rank < program.ranks; ++rank) {
    MemoryOfRank memory;
    memory.memory = fluid.add_resource(timing_.memory.rate.bytes_per_second());
    if (cached > 0) {
      memory.cache = fluid.add_resource(timing_.memory.cache_rate.bytes_per_second());
      const auto bytes = static_cast<double>(std::max<std::uint64_t>(footprint[rank], 1));
      memory.miss_share = 1 - std::min(1.0, cached / bytes);
    }
    memories_.push_back(memory);
    if (timing_.link.shape == LinkShape::switched) {
      egress_.push_back(fluid.add_resource(timing_.link.rate.bytes_per_second()));
      ingress_.push_back(fluid.add_resource(timing_.link.rate.bytes_per_second()));
    }
  }
  if (timing_.link.shape == LinkShape::mesh) links_.resize(std::size_t{program.ranks} * program.ranks);
  for (const Engine& engine : machine.engines) engine_ids_ = std::max<std::size_t>(engine_ids_, engine.id.value + 1);
  engines_.resize(engine_ids_ * program.ranks);
}

UseList MachineResources::copy_by_engine(RankId gpu, EngineId engine_id, const Copy& copy) {
  const RankId from = rank_of(copy.src);
  const RankId to = rank_of(copy.dst);
  const bool local = from == to;
  UseList uses;
  uses.add(engine(gpu, engine_id), local ? timing_.engine.rate.value / timing_.engine.local_rate.value : 1);
  add_path(uses, from, to, 1);
  add_memory(uses, from, 1);
  add_memory(uses, to, copy.op == CopyOp::add ? 2 : 1);  // an addition reads what it writes
  return uses;
}

UseList MachineResources::broadcast_by_engine(RankId gpu, EngineId engine_id, const Broadcast& broadcast) {
  const RankId from = rank_of(broadcast.src);
  UseList uses;
  uses.add(engine(gpu, engine_id), 2 * timing_.engine.rate.value / timing_.engine.broadcast_rate.value);
  add_memory(uses, from, 1);
  for (const Region* dst : {&broadcast.dst1, &broadcast.dst2}) {
    add_path(uses, from, rank_of(*dst), 1);
    add_memory(uses, rank_of(*dst), 1);
  }
  return uses;
}

UseList MachineResources::swap_by_engine(RankId gpu, EngineId engine_id, const Swap& swap) {
  const RankId a = rank_of(swap.a);
  const RankId b = rank_of(swap.b);
  UseList uses;
  uses.add(engine(gpu, engine_id), 2);
  add_path(uses, a, b, 1);
  add_path(uses, b, a, 1);
  add_memory(uses, a, 2);
  add_memory(uses, b, 2);
  return uses;
}

UseList MachineResources::copy_by_cores(const Copy& copy) {
  const RankId from = rank_of(copy.src);
  const RankId to = rank_of(copy.dst);
  UseList uses;
  add_path(uses, from, to, 1 / timing_.cores.wire_efficiency);
  add_memory(uses, from, 1);
  add_memory(uses, to, copy.op == CopyOp::add ? 2 : 1);
  return uses;
}

UseList MachineResources::kernel_by_cores(const Kernel& kernel) {
  const RankId to = rank_of(kernel.dst);
  UseList uses;
  double reads = 0;
  for (const Region& source : kernel.sources) {
    const RankId from = rank_of(source);
    if (from == to) {
      reads += 1;
      continue;
    }
    add_path(uses, from, to, 1 / timing_.cores.wire_efficiency);
    add_memory(uses, from, 1);
  }
  add_memory(uses, to, reads + 1);
  return uses;
}

ResourceId MachineResources::engine(RankId gpu, EngineId id) {
  CORTADO_CHECK(id.value < engine_ids_, "a verified program names engines of its machine");
  auto& resource = engines_[gpu.value * engine_ids_ + id.value];
  if (!resource) resource = fluid_.add_resource(timing_.engine.rate.bytes_per_second());
  return *resource;
}

void MachineResources::add_path(UseList& uses, RankId from, RankId to, double factor) {
  if (from == to) return;
  if (timing_.link.shape == LinkShape::switched) {
    uses.add(egress_[from.value], factor);
    uses.add(ingress_[to.value], factor);
  } else {
    uses.add(link(from, to), factor);
  }
}

ResourceId MachineResources::link(RankId from, RankId to) {
  auto& resource = links_[std::size_t{from.value} * program_.ranks + to.value];
  if (!resource) {
    const std::uint32_t count = machine_.link_count(from, to);
    CORTADO_CHECK(count > 0, "a verified program uses links that exist");
    resource = fluid_.add_resource(timing_.link.rate.bytes_per_second() * count);
  }
  return *resource;
}

void MachineResources::add_memory(UseList& uses, RankId rank, double factor) {
  const MemoryOfRank& memory = memories_[rank.value];
  if (memory.cache) uses.add(*memory.cache, factor);
  if (memory.miss_share > 0) uses.add(memory.memory, factor * memory.miss_share);
}

}  // namespace cortado::sim
