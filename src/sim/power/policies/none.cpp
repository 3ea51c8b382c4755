// none: the board under its cap, as its firmware does it without knowing what runs. The clock of the compute dies is
// the highest at which the GPU keeps to the cap, all others stay nominal. Where even the lowest clock of the compute
// dies draws too much, the others come down too, together.
#include <cmath>

#include "sim/power/policies/policy.hpp"

namespace cortado::sim {
namespace {

/// The greatest of 0..most that fits, if smaller ones fit whenever a greater one does; -1 if none does.
template <typename Fits>
std::int64_t greatest(std::int64_t most, const Fits& fits) {
  std::int64_t low = -1;
  while (low < most) {
    const std::int64_t middle = low + (most - low + 1) / 2;
    if (fits(middle)) {
      low = middle;
    } else {
      most = middle - 1;
    }
  }
  return low;
}

}  // namespace

Clocks decide_none(const GpuActivity& activity, const PolicyInputs& inputs) {
  const Power& power = inputs.power;
  const ComponentPower& xcd = *power.xcd;
  Clocks clocks = nominal_clocks(power);
  const auto with_xcd = [&](std::int64_t steps) {
    Clocks tried = clocks;
    tried.xcd = clock_for(power, Component::xcd, xcd.curve.lowest() + static_cast<double>(steps) * power.clock_step_ghz,
                          xcd.nominal_ghz);
    return tried;
  };
  const auto steps =
      static_cast<std::int64_t>(std::ceil((xcd.nominal_ghz - xcd.curve.lowest()) / power.clock_step_ghz - 1e-6));
  const auto fits = [&](const Clocks& tried) { return activity.watts_at(tried) <= inputs.cap_w; };
  const std::int64_t best = greatest(steps, [&](std::int64_t tried) { return fits(with_xcd(tried)); });
  if (best >= 0) return with_xcd(best);
  constexpr std::int64_t kShares = 64;
  const auto lowered = [&](std::int64_t share) {
    Clocks tried = with_xcd(0);
    for (const Component component : {Component::iod, Component::hbm}) {
      const ComponentPower* described = power.component(component);
      if (described == nullptr) continue;
      const double lowest = described->curve.lowest();
      const double above = (described->nominal_ghz - lowest) * static_cast<double>(share) / kShares;
      tried.set(component, clock_for(power, component, lowest + above, described->nominal_ghz));
    }
    return tried;
  };
  return lowered(std::max<std::int64_t>(0, greatest(kShares, [&](std::int64_t s) { return fits(lowered(s)); })));
}

}  // namespace cortado::sim
