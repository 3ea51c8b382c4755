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

void rescale(PartScales& scales, const Power& power, Component component, double ghz) {
  const ComponentPower* described = power.component(component);
  double leakage = 1;
  double clock = 1;
  double events = 1;
  if (described != nullptr) {
    const double volts = described->curve.volts_at(ghz) / described->curve.volts_at(described->nominal_ghz);
    leakage = std::pow(volts, power.leakage_exponent);
    events = volts * volts;
    clock = events * ghz / described->nominal_ghz;
  }
  const auto set = [&](EnergyPart part, double scale) { scales[static_cast<std::size_t>(part)] = scale; };
  switch (component) {
    case Component::xcd:
      set(EnergyPart::xcd_leakage, leakage);
      set(EnergyPart::xcd_clock, clock);
      set(EnergyPart::xcd_units, clock);
      set(EnergyPart::xcd_products, events);
      set(EnergyPart::xcd_bytes, events);
      break;
    case Component::iod:
      set(EnergyPart::iod_leakage, leakage);
      set(EnergyPart::iod_clock, clock);
      set(EnergyPart::iod_cache, events);
      set(EnergyPart::iod_engines, events);
      set(EnergyPart::iod_packets, events);
      set(EnergyPart::iod_polling, clock);
      break;
    case Component::hbm:
      set(EnergyPart::hbm_leakage, leakage);
      set(EnergyPart::hbm_clock, clock);
      set(EnergyPart::hbm_bytes, events);
      break;
    case Component::rest:
      break;
  }
}

PartScales part_scales(const Power& power, const Clocks& clocks) {
  PartScales scales;
  scales.fill(1);
  for (const Component component : {Component::xcd, Component::iod, Component::hbm}) {
    rescale(scales, power, component, clocks.of(component));
  }
  return scales;
}

}  // namespace cortado::sim
