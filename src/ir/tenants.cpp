#include "ir/tenants.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace cortado {
namespace {

/// A part that may use as many units as all others together works while they wait (a reduction after an exchange), with
/// the units that they have.
std::uint32_t units_of(const Tenant& tenant, const Program& program, std::uint32_t compute_units) {
  std::uint32_t sum = 0;
  std::uint32_t largest = 0;
  for (const std::uint32_t queue : tenant.queues) {
    const std::uint32_t units = program.queues[queue].compute_units.value_or(compute_units);
    sum += units;
    largest = std::max(largest, units);
  }
  const bool in_turns = tenant.queues.size() > 1 && largest >= sum - largest;
  return std::min(compute_units, in_turns ? largest : sum);
}

}  // namespace

Tenants tenants_of(const Program& program, std::uint32_t compute_units) {
  Tenants tenants{{}, std::vector<std::uint32_t>(program.queues.size(), Tenants::kNone)};
  std::map<std::pair<RankId, std::string_view>, std::uint32_t> kernels;
  for (std::uint32_t q = 0; q < program.queues.size(); ++q) {
    const Queue& queue = program.queues[q];
    if (queue.kind != QueueKind::compute) continue;
    const auto next = static_cast<std::uint32_t>(tenants.all.size());
    const bool kernel = !queue.kernel.empty();
    const std::uint32_t at = kernel ? kernels.try_emplace({*queue.rank, queue.kernel}, next).first->second : next;
    if (at == next) tenants.all.push_back({.gpu = *queue.rank, .kernel = kernel, .priority = queue.priority});
    tenants.of_queue[q] = at;
    tenants.all[at].queues.push_back(q);
    tenants.all[at].priority = std::max(tenants.all[at].priority, queue.priority);
  }
  for (Tenant& tenant : tenants.all) tenant.most = units_of(tenant, program, compute_units);
  return tenants;
}

}  // namespace cortado
