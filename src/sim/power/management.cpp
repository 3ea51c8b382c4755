#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "cortado/sim/power.hpp"

namespace cortado::sim {
namespace {

Status check_watts(double watts, std::string_view what, const Machine& machine) {
  const double idle = machine.power->idle_w();
  if (std::isfinite(watts) && watts > idle) return {};
  return fail(
      "power.cap",
      fmt::format("{} of {:g} W, where a GPU of {} draws {:.0f} W when it is idle", what, watts, machine.name, idle),
      fmt::format("ask for more than {:.0f} W; its own cap is {:g} W", idle, machine.power->cap_w));
}

}  // namespace

std::string_view name_of(PowerPolicy policy) {
  return kPowerPolicies[static_cast<std::size_t>(policy)].first;
}

std::optional<PowerPolicy> power_policy(std::string_view name) {
  for (const auto& [known, policy] : kPowerPolicies) {
    if (known == name) return policy;
  }
  return std::nullopt;
}

std::vector<Component> managed_components(const PowerManagement& management) {
  if (management.components) return *management.components;
  switch (management.policy) {
    case PowerPolicy::component_cap:
      return {Component::xcd};
    case PowerPolicy::component_shift:
      return {Component::xcd, Component::iod, Component::hbm};
    default:
      return {};
  }
}

double watts_allowed(const PowerManagement& management, const Power& power) {
  constexpr double kUsualLimit = 0.8;  // of the cap
  const double cap = management.cap_w.value_or(power.cap_w);
  return management.policy == PowerPolicy::uniform_cap ? std::min(cap, management.limit_w.value_or(kUsualLimit * cap))
                                                       : cap;
}

Status check_power(const Machine& machine) {
  if (machine.power) return {};
  return fail("power.machine", fmt::format("machine {} says nothing of power", machine.name),
              "take a machine that does (cortado list machines), or add the section power to its file");
}

Status check_power_management(const PowerManagement& management, const Machine& machine) {
  CORTADO_RETURN_IF_ERROR(check_power(machine));
  if (management.cap_w) CORTADO_RETURN_IF_ERROR(check_watts(*management.cap_w, "a cap", machine));
  if (management.policy == PowerPolicy::uniform_cap) {
    CORTADO_RETURN_IF_ERROR(check_watts(watts_allowed(management, *machine.power), "a limit", machine));
  }
  if (management.limit_w) {
    if (management.policy != PowerPolicy::uniform_cap) {
      return fail("power.limit", fmt::format("a limit for the policy {}", name_of(management.policy)),
                  "a limit is for uniform-cap; the others keep to the cap of the board");
    }
    const double cap = management.cap_w.value_or(machine.power->cap_w);
    if (*management.limit_w > cap) {
      return fail("power.limit", fmt::format("a limit of {:g} W above the cap of {:g} W", *management.limit_w, cap),
                  "the cap holds in any case: give a lower limit");
    }
  }
  const bool by_component =
      management.policy == PowerPolicy::component_cap || management.policy == PowerPolicy::component_shift;
  if (management.components && !by_component) {
    return fail("power.component", fmt::format("components for the policy {}", name_of(management.policy)),
                "components are for component-cap and component-shift");
  }
  std::vector<Component> needed = managed_components(management);
  if (std::ranges::find(needed, Component::xcd) == needed.end()) needed.push_back(Component::xcd);
  for (const Component component : needed) {
    if (machine.power->component(component) != nullptr) continue;
    if (component == Component::rest) {
      return fail("power.component", "the rest of the board has no clock", "name xcd, iod or hbm");
    }
    return fail("power.component",
                fmt::format("the policy {} needs the clock of {}, which machine {} does not describe",
                            name_of(management.policy), name_of(component), machine.name),
                fmt::format("add the section power.{} to the machine file (machines/README.md)", name_of(component)));
  }
  return {};
}

}  // namespace cortado::sim
