#include "sim/power/policies/policy.hpp"

#include <algorithm>
#include <cmath>

namespace cortado::sim {

double clock_for(const Power& power, Component component, double ghz, double highest) {
  const ComponentPower* described = power.component(component);
  if (described == nullptr) return 0;
  // A clock that is a whole number of steps up to rounding counts as that number.
  const double steps = std::ceil(ghz / power.clock_step_ghz - 1e-6);
  return std::clamp(steps * power.clock_step_ghz, described->curve.lowest(),
                    std::min(highest, described->curve.highest()));
}

double highest_xcd(const GpuActivity& activity, const PolicyInputs& inputs, Clocks clocks, double highest) {
  const double lowest = inputs.power.xcd->curve.lowest();
  const double step = inputs.power.clock_step_ghz;
  const auto clock = [&](std::int64_t steps) {
    return clock_for(inputs.power, Component::xcd, lowest + static_cast<double>(steps) * step, highest);
  };
  PredictedDraw draw(activity);
  // A higher clock never draws less, so bisect for the last one that fits.
  std::int64_t fits = -1;
  auto most = static_cast<std::int64_t>(std::ceil((highest - lowest) / step - 1e-6));
  while (fits < most) {
    const std::int64_t middle = fits + (most - fits + 1) / 2;
    clocks.xcd = clock(middle);
    if (draw.watts_at(clocks) <= inputs.cap_w) {
      fits = middle;
    } else {
      most = middle - 1;
    }
  }
  return fits < 0 ? 0 : clock(fits);
}

Clocks decide(const PowerPolicy& policy, const GpuActivity& activity, const PolicyInputs& inputs) {
  return activity.idle() ? nominal_clocks(inputs.power) : policy.decide(activity, inputs);
}

}  // namespace cortado::sim
