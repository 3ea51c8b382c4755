#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "cortado/target.hpp"

#include "base/text.hpp"

namespace cortado::sim {
namespace {

Status check_watts(double watts, std::string_view what, const Machine& machine) {
  const double idle = machine.power->idle_w();
  if (std::isfinite(watts) && watts > idle) return {};
  return fail(
      "power.cap",
      fmt::format("{} of {:g} W is too low: a GPU of {} draws {:.0f} W when idle", what, watts, machine.name, idle),
      fmt::format("use more than {:.0f} W; the machine's own cap is {:g} W", idle, machine.power->cap_w));
}

/// "a and b": the names of all policies for which `so` is true.
std::string names_of(bool (*so)(const PowerPolicy&)) {
  std::vector<std::string> names;
  for (const PowerPolicy* policy : power_policies()) {
    if (so(*policy)) names.emplace_back(policy->name);
  }
  return join(names, " and ");
}

}  // namespace

std::vector<Component> managed_components(const PowerManagement& management) {
  if (management.components) return *management.components;
  return {management.policy->components.begin(), management.policy->components.end()};
}

double watts_allowed(const PowerManagement& management, const Power& power) {
  constexpr double kUsualLimit = 0.8;  // of the cap
  const double cap = management.cap_w.value_or(power.cap_w);
  return management.policy->has_limit ? std::min(cap, management.limit_w.value_or(kUsualLimit * cap)) : cap;
}

Status check_power(const Machine& machine) {
  if (machine.power) return {};
  return fail(About::machine, "power.machine", fmt::format("machine {} does not describe power", machine.name),
              "use a machine that does (see cortado list machines), or add the section power to its file");
}

Status check_power_management(const PowerManagement& management, const Machine& machine) {
  CORTADO_RETURN_IF_ERROR(check_power(machine));
  if (management.cap_w) CORTADO_RETURN_IF_ERROR(check_watts(*management.cap_w, "a cap", machine));
  if (management.policy->has_limit) {
    CORTADO_RETURN_IF_ERROR(check_watts(watts_allowed(management, *machine.power), "a limit", machine));
  }
  if (management.limit_w) {
    if (!management.policy->has_limit) {
      return fail("power.limit", fmt::format("the policy {} does not use a limit", management.policy->name),
                  fmt::format("a limit only applies to {}; the others keep to the cap of the board",
                              names_of([](const PowerPolicy& policy) { return policy.has_limit; })));
    }
    const double cap = management.cap_w.value_or(machine.power->cap_w);
    if (*management.limit_w > cap) {
      return fail("power.limit",
                  fmt::format("the limit of {:g} W is above the cap of {:g} W", *management.limit_w, cap),
                  "the cap always applies: use a lower limit");
    }
  }
  const auto by_component = [](const PowerPolicy& policy) { return !policy.components.empty(); };
  if (management.components && !by_component(*management.policy)) {
    return fail("power.component", fmt::format("the policy {} does not use components", management.policy->name),
                fmt::format("components only apply to {}", names_of(by_component)));
  }
  std::vector<Component> needed = managed_components(management);
  if (std::ranges::find(needed, Component::xcd) == needed.end()) needed.push_back(Component::xcd);
  for (const Component component : needed) {
    if (machine.power->component(component) != nullptr) continue;
    if (component == Component::rest) {
      return fail(About::machine, "power.component", "the rest of the board has no clock", "use xcd, iod or hbm");
    }
    return fail(About::machine, "power.component",
                fmt::format("the policy {} needs the clock of {}, which machine {} does not describe",
                            management.policy->name, name_of(component), machine.name),
                fmt::format("add the section power.{} to the machine file (machines/README.md)", name_of(component)));
  }
  return {};
}

}  // namespace cortado::sim
