#include <algorithm>
#include <iterator>

#include "cortado/machine.hpp"

namespace cortado {

double VoltageCurve::volts_at(double clock_ghz) const {
  const auto above = std::ranges::lower_bound(ghz, clock_ghz);
  if (above == ghz.begin()) return volts.front();
  if (above == ghz.end()) return volts.back();
  const auto i = static_cast<std::size_t>(std::distance(ghz.begin(), above));
  const double share = (clock_ghz - ghz[i - 1]) / (ghz[i] - ghz[i - 1]);
  return volts[i - 1] + share * (volts[i] - volts[i - 1]);
}

const ComponentPower* Power::component(Component which) const {
  const auto address = [](const std::optional<ComponentPower>& power) { return power ? &*power : nullptr; };
  switch (which) {
    case Component::xcd:
      return address(xcd);
    case Component::iod:
      return address(iod);
    case Component::hbm:
      return address(hbm);
    case Component::rest:
      break;
  }
  return nullptr;
}

double Power::idle_w() const {
  double components = 0;
  for (const Component which : kComponents) {
    if (const ComponentPower* power = component(which)) components += power->idle_w;
  }
  return rest_idle_w + (1 + loss) * components;
}

}  // namespace cortado
