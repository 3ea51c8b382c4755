// component-shift: every component gets the clock that the work needs at one pace, and the pace is the greatest that
// the board's cap and the clocks allow. So watts go from components that would wait to those that the work waits for.
#include <algorithm>

#include "sim/power/policies/policy.hpp"

namespace cortado::sim {
namespace {

Clocks at_pace(const GpuActivity& activity, const PolicyInputs& inputs, double pace) {
  Clocks clocks = nominal_clocks(inputs.power);
  for (std::size_t i = 0; i < kClocked.size(); ++i) {
    if (activity.needed[i] <= 0 || !inputs.moves[i]) continue;
    const double room = activity.bounds[i] ? 1 : 1 + inputs.headroom;
    const ComponentPower* described = inputs.power.component(kClocked[i]);
    clocks.set(kClocked[i],
               clock_for(inputs.power, kClocked[i], activity.needed[i] * pace * room, described->curve.highest()));
  }
  return clocks;
}

}  // namespace

Clocks decide_component_shift(const GpuActivity& activity, const PolicyInputs& inputs) {
  const auto fits = [&](double pace) { return activity.watts_at(at_pace(activity, inputs, pace)) <= inputs.cap_w; };
  double most = 1;  // work that no clock bounds goes no faster
  if (activity.bound()) {
    most = 1e9;
    for (std::size_t i = 0; i < kClocked.size(); ++i) {
      const ComponentPower* described = inputs.power.component(kClocked[i]);
      if (activity.needed[i] <= 0 || described == nullptr) continue;
      const double highest = inputs.moves[i] ? described->curve.highest() : described->nominal_ghz;
      most = std::min(most, highest / activity.needed[i]);
    }
  }
  if (fits(most)) return at_pace(activity, inputs, most);
  double low = 0;
  if (!fits(low)) return decide_none(activity, inputs);
  for (int i = 0; i < 20; ++i) {
    const double middle = (low + most) / 2;
    (fits(middle) ? low : most) = middle;
  }
  return at_pace(activity, inputs, low);
}

}  // namespace cortado::sim
