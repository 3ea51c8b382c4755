// none: the board under its cap, as its firmware controls it without knowing what runs. The clock of the compute dies
// is the highest at which the GPU keeps within the cap; all others stay nominal. If even the lowest clock of the
// compute dies draws too much, the others are lowered too, together.
#include "sim/power/policies/policy.hpp"

namespace cortado::sim {

Clocks decide_as_board(const GpuActivity& activity, const PolicyInputs& inputs) {
  const Power& power = inputs.power;
  Clocks clocks = nominal_clocks(power);
  clocks.xcd = highest_xcd(activity, inputs, clocks, power.xcd->nominal_ghz);
  constexpr int kSteps = 64;  // from nominal to the lowest clocks of the others
  for (int step = 1; clocks.xcd == 0 && step <= kSteps; ++step) {
    for (const Component component : {Component::iod, Component::hbm}) {
      const ComponentPower* described = power.component(component);
      if (described == nullptr) continue;
      const double down = (described->nominal_ghz - described->curve.lowest()) * step / kSteps;
      clocks.set(component, clock_for(power, component, described->nominal_ghz - down, described->nominal_ghz));
    }
    clocks.xcd = highest_xcd(activity, inputs, clocks, power.xcd->curve.lowest());
  }
  if (clocks.xcd == 0) clocks.xcd = power.xcd->curve.lowest();
  return clocks;
}

const PowerPolicy kNoPowerPolicy{
    .name = "none", .summary = "only the board's cap: the highest xcd clock that it allows", .decide = decide_as_board};

}  // namespace cortado::sim
