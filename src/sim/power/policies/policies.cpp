// The single list of power policies.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "cortado/target.hpp"

#include "base/text.hpp"

namespace cortado::sim {

// Each policy is defined in the file of the same name.
extern const PowerPolicy kUniformCap;
extern const PowerPolicy kComponentCap;
extern const PowerPolicy kComponentShift;

std::span<const PowerPolicy* const> power_policies() {
  static constexpr std::array kAll{&kNoPowerPolicy, &kUniformCap, &kComponentCap, &kComponentShift};
  return kAll;
}

const PowerPolicy* find_power_policy(std::string_view name) {
  for (const PowerPolicy* policy : power_policies()) {
    if (policy->name == name) return policy;
  }
  return nullptr;
}

Result<std::vector<const PowerPolicy*>> parse_power_policies(const std::vector<std::string>& names) {
  std::vector<const PowerPolicy*> policies;
  for (const std::string& name : names) {
    const PowerPolicy* policy = find_power_policy(name);
    if (policy == nullptr) {
      std::vector<std::string> known;
      for (const PowerPolicy* one : power_policies()) known.emplace_back(one->name);
      return fail("power.policy", fmt::format("unknown power policy '{}'", name), suggestion(name, known));
    }
    if (std::ranges::count(policies, policy) == 0) policies.push_back(policy);
  }
  return policies;
}

}  // namespace cortado::sim
