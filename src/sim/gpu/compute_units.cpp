#include "sim/gpu/compute_units.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace cortado::sim {

ComputeUnits::ComputeUnits(const Program& program, const Machine& machine, Listener& listener)
    : tenants_(tenants_of(program, machine.compute_units)),
      uses_(tenants_.all.size()),
      gpus_(program.ranks),
      listener_(listener) {
  for (Gpu& gpu : gpus_) gpu.free = machine.compute_units;
  for (Tenant tenant = 0; tenant < uses_.size(); ++tenant) gpu_of(tenant).tenants.push_back(tenant);
}

std::uint32_t ComputeUnits::held_by_others(Tenant tenant) const {
  std::uint32_t held = 0;
  for (const Tenant other : neighbours(tenant)) held += other == tenant ? 0 : uses_[other].held;
  return held;
}

void ComputeUnits::launch(Tenant tenant, std::uint32_t wanted) {
  uses_[tenant].launched = ++launches_;
  uses_[tenant].wanted = wanted;
}

void ComputeUnits::hold(Tenant tenant, std::uint32_t units, SimTime now) {
  Use& use = uses_[tenant];
  unit_seconds_ += use.held * to_seconds(now - use.since);
  listener_.hold_units(tenants_.all[tenant].gpu.value, std::int64_t{units} - std::int64_t{use.held}, now);
  use.since = now;
  use.held = units;
}

void ComputeUnits::release(Tenant tenant, std::uint32_t units, SimTime now) {
  CORTADO_CHECK(units <= uses_[tenant].held, "units are given back by who holds them");
  hold(tenant, uses_[tenant].held - units, now);
  gpu_of(tenant).free += units;
}

std::optional<ComputeUnits::Grant> ComputeUnits::next_grant(Tenant on_gpu_of, SimTime now) {
  Gpu& gpu = gpu_of(on_gpu_of);
  if (gpu.free == 0) return std::nullopt;
  Tenant first = kNone;
  for (const Tenant candidate : gpu.tenants) {
    if (uses_[candidate].wanted == 0) continue;
    if (first == kNone) first = candidate;
    const std::int32_t priority = tenants_.all[candidate].priority;
    const std::int32_t best = tenants_.all[first].priority;
    const bool sooner = priority != best ? priority > best : uses_[candidate].launched < uses_[first].launched;
    if (sooner) first = candidate;
  }
  if (first == kNone) return std::nullopt;
  const std::uint32_t units = std::min(gpu.free, uses_[first].wanted);
  gpu.free -= units;
  uses_[first].wanted -= units;
  hold(first, uses_[first].held + units, now);
  return Grant{first, units};
}

}  // namespace cortado::sim
