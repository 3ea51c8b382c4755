#include <algorithm>

#include <fmt/format.h>

#include "cortado/base/text.hpp"
#include "cortado/pipeline/power.hpp"

namespace cortado::pipeline {
namespace {

std::string summary_of(sim::PowerPolicy policy) {
  switch (policy) {
    case sim::PowerPolicy::none:
      return "the cap of the board alone: as much of the xcd clock as it allows";
    case sim::PowerPolicy::uniform_cap:
      return "the same under a lower limit for the whole GPU (--limit)";
    case sim::PowerPolicy::component_cap:
      return "components that do not bound what runs are clocked down: xcd, or those of --components";
    case sim::PowerPolicy::component_shift:
      return "watts of components that do not bound what runs go to the one that does";
  }
  return {};
}

}  // namespace

std::vector<PowerPolicyInfo> list_power_policies() {
  std::vector<PowerPolicyInfo> all;
  for (const auto& [name, policy] : sim::kPowerPolicies) all.push_back({std::string(name), summary_of(policy)});
  return all;
}

Result<std::vector<sim::PowerPolicy>> parse_power_policies(const std::vector<std::string>& names) {
  std::vector<sim::PowerPolicy> policies;
  for (const std::string& name : names) {
    const auto policy = sim::power_policy(name);
    if (!policy) {
      std::vector<std::string> known;
      for (const PowerPolicyInfo& info : list_power_policies()) known.push_back(info.name);
      const std::string nearest = nearest_name(name, known);
      return fail("power.policy", fmt::format("unknown power policy '{}'", name),
                  (nearest.empty() ? "" : fmt::format("did you mean {}? ", nearest)) + "known: " + join(known));
    }
    if (std::ranges::count(policies, *policy) == 0) policies.push_back(*policy);
  }
  return policies;
}

}  // namespace cortado::pipeline
