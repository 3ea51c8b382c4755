#include "sim/fast/one_gpu.hpp"

#include <algorithm>

namespace cortado::sim {

OneGpu::OneGpu(const Program& program, RankId gpu, const Machine& machine, Sharing sharing)
    : machine_(machine),
      timing_(*machine.timing),
      gpu_(gpu),
      sharing_(sharing),
      resources_(machine, program, fluid_),
      transfers_(events_, fluid_, nobody_) {
  resources_.ignore_detours();  // copies to this GPU stand for those of its peers, which have engines of their own
}

FlowId OneGpu::begin(double work, std::span<const ResourceUse> uses, Transfers::Speed speed, std::uint32_t owner) {
  if (sharing_ == Sharing::modelled) return transfers_.begin(work, uses, {}, speed, owner);
  for (const ResourceUse& use : uses) speed.cap = std::min(speed.cap, fluid_.capacity(use.resource) / use.factor);
  const SimTime over = events_.now() + sim_time_from_seconds(work / speed.cap);
  events_.schedule(over, EventClass::end, {EventKind::transfer_end, owner});
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
  return {.cap = kWorkPerSecond, .weight = kWorkPerSecond / timing_.engine.rate.bytes_per_second()};
}

std::vector<ResourceUse> OneGpu::uses_of(const Queue& queue, const Copy& copy) {
  const auto view = resources_.move_by_engine(gpu_, *queue.engine, copy).view();
  std::vector<ResourceUse> uses(view.begin(), view.end());
  // What products take, too, is at the ends of the link: fabric, cache and memory.
  const auto at_ends =
      resources_.product_by_cores(gpu_, {.cache_bytes = 1, .memory_load = 1, .fabric_share = 1}).view();
  for (ResourceUse& use : uses) {
    if (std::ranges::find(at_ends, use.resource, &ResourceUse::resource) != at_ends.end()) use.factor *= 2;
  }
  return uses;
}

Bytes OneGpu::cache_held(double streaming, const GemmShape& beside) const {
  if (streaming <= 0) return {};
  const auto operands = static_cast<double>(operand_bytes(beside).value);
  const auto cache = static_cast<double>(timing_.memory.cache_bytes.value);
  return {static_cast<std::uint64_t>(cache * streaming / (streaming + operands))};
}

}  // namespace cortado::sim
