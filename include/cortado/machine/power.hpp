// What the power model needs to know of one GPU; docs/models.md gives the equations.
//
// Every component has a clock and a voltage that follows it. Energies of events and watts of clocks are given at the
// nominal clock of their component, which is the one that the times of the machine file hold for; products alone have
// clocks of their own there (compute.bf16_clock_GHz), which the compute dies reach under such load.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "cortado/base/units.hpp"

namespace cortado {

/// The parts of a GPU whose power is counted apart.
enum class Component {
  xcd,   ///< compute dies: compute units and their L2
  iod,   ///< I/O dies: fabric, last-level cache, memory controllers, links, DMA engines
  hbm,   ///< memory
  rest,  ///< of the board: voltage regulators, and what has no clock of its own
};

inline constexpr std::array<Component, 4> kComponents{Component::xcd, Component::iod, Component::hbm, Component::rest};
inline constexpr std::array<std::string_view, 4> kComponentNames{"xcd", "iod", "hbm", "rest"};

constexpr std::string_view name_of(Component component) {
  return kComponentNames[static_cast<std::size_t>(component)];
}

/// Volts at clocks, linear between points; both ascend.
struct VoltageCurve {
  std::vector<double> ghz;
  std::vector<double> volts;

  double lowest() const { return ghz.front(); }
  double highest() const { return ghz.back(); }
  /// Within the curve; outside, that of its nearest end.
  double volts_at(double clock_ghz) const;
};

/// A component with a clock.
struct ComponentPower {
  double idle_w = 0;       ///< nothing runs on it
  double leakage_w = 0;    ///< on top of that while it is awake, at the nominal voltage
  double clock_w = 0;      ///< on top of that while it is awake, at nominal clock and voltage: clock trees
  double nominal_ghz = 0;  ///< a point of the curve
  VoltageCurve curve;
};

struct Power {
  double cap_w = 0;              ///< of the board
  Nanoseconds control_interval;  ///< between two decisions of the power management
  double clock_step_ghz = 0;     ///< clocks are whole multiples of it
  double raise_ghz = 0;  ///< that the clock of the compute dies goes up in an interval, at most; down it goes at once
  double burst_ms = 0;   ///< of load that may draw more than the cap before clocks come down
  double leakage_exponent = 0;  ///< leakage grows with this power of the voltage
  double rest_idle_w = 0;
  double loss = 0;  ///< of voltage regulators, as a share of what the other components draw; counts as rest
  /// None: the machine does not describe it. What it draws without work is in `rest_idle_w`, and policies that want its
  /// clock are refused.
  std::optional<ComponentPower> xcd{};
  std::optional<ComponentPower> iod{};
  std::optional<ComponentPower> hbm{};

  // Events, joules each.
  double f32_flop = 0;  ///< XCD
  double f16_flop = 0;
  double bf16_flop = 0;
  double f8_flop = 0;
  double i8_flop = 0;
  double l2_byte = 0;      ///< XCD: that compute units read or write beyond their own caches
  double cache_byte = 0;   ///< IOD: of the last-level cache
  double link_byte = 0;    ///< IOD: at each end of a link
  double engine_byte = 0;  ///< IOD: that a DMA engine moves
  double packet = 0;       ///< IOD: that a DMA engine reads
  double hbm_byte = 0;     ///< HBM, its interface in the IOD included
  /// Of the time that compute units take for a byte of a copy, the share that follows the xcd clock; the rest is
  /// latency beyond the compute dies.
  double copy_clock_share = 1;
  // Watts while it lasts.
  double unit_w = 0;     ///< XCD: a compute unit that a kernel holds, at the nominal clock
  double polling_w = 0;  ///< IOD: a DMA engine that polls

  /// Nullptr for `rest` and for what the machine does not describe.
  const ComponentPower* component(Component which) const;
  double idle_w() const;  ///< of the whole GPU, regulators included
};

}  // namespace cortado
