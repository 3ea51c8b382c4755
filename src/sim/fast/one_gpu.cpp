#include "sim/fast/one_gpu.hpp"

#include <algorithm>

namespace cortado::sim {

OneGpu::OneGpu(const Program& program, RankId gpu, const Machine& machine, Sharing sharing)
    : whole_(program),
      machine_(machine),
      timing_(*machine.timing),
      gpu_(gpu),
      sharing_(sharing),
      resources_(machine, program, fluid_),
      transfers_(events_, fluid_, nobody_) {
  resources_.ignore_detours();  // copies to this GPU stand for those of its peers, which have their own engines
}

FlowId OneGpu::begin(double work, std::span<const ResourceUse> uses, Transfers::Speed speed, std::uint32_t owner) {
  if (sharing_ == Sharing::modelled) return transfers_.begin(work, uses, {}, speed, owner);
  for (const ResourceUse& use : uses) speed.cap = std::min(speed.cap, fluid_.capacity(use.resource) / use.factor);
  const SimTime over = events_.now() + sim_time_from_seconds(work / speed.cap);
  events_.post(over, EventClass::end, {EventKind::transfer_end, owner});
  return {};
}

std::uint32_t OneGpu::end(const Event& event) {
  return sharing_ == Sharing::modelled ? transfers_.finish({event.index}) : event.index;
}

UseList& OneGpu::uses_of(const WorkgroupDemand& demand, std::uint64_t workgroups) {
  const auto count = static_cast<double>(workgroups);
  const double work = demand.seconds * kWorkPerSecond;
  const double load = count * demand.memory_seconds * timing_.memory.rate.bytes_per_second() / work;
  const double units = count / machine_.compute_units / kWorkPerSecond;
  return resources_.product_by_cores(gpu_, {.cache_bytes = count * demand.cache_bytes / work,
                                            .memory_load = load,
                                            .fabric_share = resources_.fabric_of_products(units, load)});
}

Transfers::Speed OneGpu::speed_of_workgroups() const {
  return {.cap = kWorkPerSecond, .weight = resources_.weight_of(kWorkPerSecond)};
}

std::vector<ResourceUse> OneGpu::at_both_ends(std::vector<ResourceUse> here, const UseList& by_peer) {
  const std::vector<ResourceUse> there(by_peer.view().begin(), by_peer.view().end());
  // The ends of the link are the resources that GEMMs also use: cache, memory and fabric.
  for (const ResourceUse& end :
       resources_.product_by_cores(gpu_, {.cache_bytes = 1, .memory_load = 1, .fabric_share = 1}).view()) {
    const auto more = std::ranges::find(there, end.resource, &ResourceUse::resource);
    if (more == there.end()) continue;
    const auto known = std::ranges::find(here, end.resource, &ResourceUse::resource);
    if (known == here.end()) {
      here.push_back(*more);
    } else {
      known->factor += more->factor;
    }
  }
  return here;
}

std::vector<ResourceUse> OneGpu::uses_by_engine(const Queue& queue, const Copy& copy) {
  const UseList& uses = resources_.move_by_engine(gpu_, *queue.engine, copy);
  return at_both_ends({uses.view().begin(), uses.view().end()}, uses);
}

std::vector<ResourceUse> OneGpu::uses_by_cores(const Copy& copy) {
  const auto view = resources_.copy_by_cores(gpu_, copy).view();
  const std::vector<ResourceUse> here(view.begin(), view.end());
  const RankId source = whole_.buffer(copy.src.buffer).rank;
  const RankId peer = source == gpu_ ? whole_.buffer(copy.dst.buffer).rank : source;
  return at_both_ends(here, resources_.copy_by_cores(peer, copy));
}

std::vector<ResourceUse> OneGpu::uses_of_stores(const OutputBlock& block, double writes, double reads) {
  const auto view = resources_.stores_by_cores(gpu_, block.to, block.op, writes, reads).view();
  std::vector<ResourceUse> here(view.begin(), view.end());
  const RankId peer = whole_.buffer(block.to.buffer).rank;
  if (peer == gpu_) return here;
  const auto own = std::ranges::find(whole_.buffers, gpu_, &Buffer::rank);
  const Region landing{BufferId{static_cast<std::uint32_t>(own - whole_.buffers.begin())}, {}, block.to.width};
  return at_both_ends(here, resources_.stores_by_cores(peer, landing, block.op, writes, reads));
}

Bytes OneGpu::cache_held(double streaming, Bytes operands) const {
  if (streaming <= 0) return {};
  const auto cache = static_cast<double>(timing_.memory.cache_bytes.value);
  return {static_cast<std::uint64_t>(cache * streaming / (streaming + static_cast<double>(operands.value)))};
}

}  // namespace cortado::sim
