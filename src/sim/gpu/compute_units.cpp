#include "sim/gpu/compute_units.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include "base/check.hpp"
#include "ir/kernel_units.hpp"

namespace cortado::sim {
ComputeUnits::ComputeUnits(const Program& program, const Machine& machine, Listener& listener)
    : tenant_of_(program.queues.size(), kNone), gpus_(program.ranks), listener_(listener) {
  for (Gpu& gpu : gpus_) gpu.free = machine.compute_units;
  std::map<std::pair<std::uint32_t, std::string_view>, Tenant> kernels;
  std::vector<std::vector<std::uint32_t>> parts;
  for (std::uint32_t i = 0; i < program.queues.size(); ++i) {
    const Queue& queue = program.queues[i];
    if (queue.kind != QueueKind::compute) continue;
    const std::uint32_t gpu = queue.rank->value;
    const auto next = static_cast<Tenant>(tenants_.size());
    const bool kernel = !queue.kernel.empty();
    const Tenant tenant = kernel ? kernels.try_emplace({gpu, queue.kernel}, next).first->second : next;
    if (tenant == next) {
      tenants_.push_back({.queues = {}, .gpu = gpu, .kernel = kernel, .priority = queue.priority});
      parts.emplace_back();
      gpus_[gpu].tenants.push_back(tenant);
    }
    tenant_of_[i] = tenant;
    tenants_[tenant].queues.push_back(i);
    tenants_[tenant].priority = std::max(tenants_[tenant].priority, queue.priority);
    parts[tenant].push_back(queue.compute_units.value_or(machine.compute_units));
  }
  for (Tenant tenant = 0; tenant < tenants_.size(); ++tenant) {
    tenants_[tenant].most = std::min(machine.compute_units, units_of_parts(parts[tenant]));
  }
}

std::uint32_t ComputeUnits::held_by_others(Tenant tenant) const {
  std::uint32_t held = 0;
  for (const Tenant other : gpus_[tenants_[tenant].gpu].tenants) held += other == tenant ? 0 : tenants_[other].held;
  return held;
}

void ComputeUnits::launch(Tenant tenant, std::uint32_t wanted) {
  tenants_[tenant].launched = ++launches_;
  tenants_[tenant].wanted = wanted;
}

void ComputeUnits::hold(TenantState& tenant, std::uint32_t units, SimTime now) {
  unit_seconds_ += tenant.held * to_seconds(now - tenant.since);
  listener_.hold_units(tenant.gpu, std::int64_t{units} - std::int64_t{tenant.held}, now);
  tenant.since = now;
  tenant.held = units;
}

void ComputeUnits::release(Tenant index, std::uint32_t units, SimTime now) {
  TenantState& tenant = tenants_[index];
  CORTADO_CHECK(units <= tenant.held, "units are given back by who holds them");
  hold(tenant, tenant.held - units, now);
  gpus_[tenant.gpu].free += units;
}

std::optional<ComputeUnits::Grant> ComputeUnits::next_grant(Tenant on_gpu_of, SimTime now) {
  Gpu& gpu = gpus_[tenants_[on_gpu_of].gpu];
  if (gpu.free == 0) return std::nullopt;
  Tenant first = kNone;
  for (const Tenant candidate : gpu.tenants) {
    const TenantState& tenant = tenants_[candidate];
    if (tenant.wanted == 0) continue;
    if (first == kNone) first = candidate;
    const TenantState& best = tenants_[first];
    const bool sooner =
        tenant.priority != best.priority ? tenant.priority > best.priority : tenant.launched < best.launched;
    if (sooner) first = candidate;
  }
  if (first == kNone) return std::nullopt;
  TenantState& tenant = tenants_[first];
  const std::uint32_t units = std::min(gpu.free, tenant.wanted);
  gpu.free -= units;
  tenant.wanted -= units;
  hold(tenant, tenant.held + units, now);
  return Grant{first, units};
}

}  // namespace cortado::sim
