#include "sim/power/policies/policy.hpp"

#include <algorithm>
#include <cmath>

namespace cortado::sim {

Clocks resting_clocks(const Power& power) {
  return nominal_clocks(power);
}

double clock_for(const Power& power, Component component, double ghz, double highest) {
  const ComponentPower* described = power.component(component);
  if (described == nullptr) return 0;
  // A clock that is a whole number of steps but for rounding is that number.
  const double steps = std::ceil(ghz / power.clock_step_ghz - 1e-6);
  return std::clamp(steps * power.clock_step_ghz, described->curve.lowest(),
                    std::min(highest, described->curve.highest()));
}

Clocks decide(PowerPolicy policy, const GpuActivity& activity, const PolicyInputs& inputs) {
  if (activity.idle()) return resting_clocks(inputs.power);
  switch (policy) {
    case PowerPolicy::none:
    case PowerPolicy::uniform_cap:
      return decide_none(activity, inputs);
    case PowerPolicy::component_cap:
      return decide_component_cap(activity, inputs);
    case PowerPolicy::component_shift:
      return decide_component_shift(activity, inputs);
  }
  return resting_clocks(inputs.power);
}

}  // namespace cortado::sim
