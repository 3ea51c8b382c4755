// How power scales with clocks. At clock f and voltage V, where the values in the machine file hold for f0 and V0:
//
//   idle      constant
//   leakage   (V / V0)^leakage_exponent
//   clocks    (V / V0)^2 f / f0          clock trees, held compute units, polling engines
//   events    (V / V0)^2                 an operation, a byte, a packet
//   links     constant: they have their own supply
#pragma once

#include <array>

#include "cortado/machine.hpp"
#include "cortado/timeline.hpp"

namespace cortado::sim {

/// Clocks of a GPU in GHz. 0 for components that the machine does not describe.
struct Clocks {
  double xcd = 0;
  double iod = 0;
  double hbm = 0;

  double of(Component component) const;
  void set(Component component, double ghz);
  friend bool operator==(const Clocks&, const Clocks&) = default;
};

Clocks nominal_clocks(const Power& power);

/// By part, relative to nominal clocks.
using PartScales = std::array<double, kEnergyParts.size()>;
PartScales part_scales(const Power& power, const Clocks& clocks);
/// Sets the parts of one component.
void rescale(PartScales& scales, const Power& power, Component component, double ghz);

/// By part: caused by events, so that it scales with the speed of the work, not with time.
inline constexpr std::array<bool, kEnergyParts.size()> kFollowsWork = [] {
  std::array<bool, kEnergyParts.size()> follows{};
  for (const EnergyPart part :
       {EnergyPart::xcd_products, EnergyPart::xcd_bytes, EnergyPart::iod_cache, EnergyPart::iod_links,
        EnergyPart::iod_engines, EnergyPart::iod_packets, EnergyPart::hbm_bytes}) {
    follows[static_cast<std::size_t>(part)] = true;
  }
  return follows;
}();

}  // namespace cortado::sim
