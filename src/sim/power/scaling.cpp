#include "sim/power/scaling.hpp"

#include <cmath>

namespace cortado::sim {

double Clocks::of(Component component) const {
  switch (component) {
    case Component::xcd:
      return xcd;
    case Component::iod:
      return iod;
    case Component::hbm:
      return hbm;
    case Component::rest:
      break;
  }
  return 0;
}

void Clocks::set(Component component, double ghz) {
  if (component == Component::xcd) xcd = ghz;
  if (component == Component::iod) iod = ghz;
  if (component == Component::hbm) hbm = ghz;
}

Clocks nominal_clocks(const Power& power) {
  Clocks clocks;
  for (const Component component : kComponents) {
    if (const ComponentPower* of = power.component(component)) clocks.set(component, of->nominal_ghz);
  }
  return clocks;
}

PartScales part_scales(const Power& power, const Clocks& clocks) {
  struct Scale {
    double leakage = 1;
    double clock = 1;
    double events = 1;
  };
  const auto of = [&](Component component) -> Scale {
    const ComponentPower* described = power.component(component);
    if (described == nullptr) return {};
    const double ghz = clocks.of(component);
    const double volts = described->curve.volts_at(ghz) / described->curve.volts_at(described->nominal_ghz);
    const double events = volts * volts;
    return {std::pow(volts, power.leakage_exponent), events * ghz / described->nominal_ghz, events};
  };
  PartScales scales;
  scales.fill(1);
  const auto set = [&](EnergyPart part, double scale) { scales[static_cast<std::size_t>(part)] = scale; };
  const Scale xcd = of(Component::xcd);
  set(EnergyPart::xcd_leakage, xcd.leakage);
  set(EnergyPart::xcd_clock, xcd.clock);
  set(EnergyPart::xcd_units, xcd.clock);
  set(EnergyPart::xcd_products, xcd.events);
  set(EnergyPart::xcd_bytes, xcd.events);
  const Scale iod = of(Component::iod);
  set(EnergyPart::iod_leakage, iod.leakage);
  set(EnergyPart::iod_clock, iod.clock);
  set(EnergyPart::iod_cache, iod.events);
  set(EnergyPart::iod_engines, iod.events);
  set(EnergyPart::iod_packets, iod.events);
  set(EnergyPart::iod_polling, iod.clock);
  const Scale hbm = of(Component::hbm);
  set(EnergyPart::hbm_leakage, hbm.leakage);
  set(EnergyPart::hbm_clock, hbm.clock);
  set(EnergyPart::hbm_bytes, hbm.events);
  return scales;
}

}  // namespace cortado::sim
