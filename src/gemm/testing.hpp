// The machine of most tests of GEMMs.
#pragma once

#include <cstdint>
#include <string>

#include "cortado/machine.hpp"

namespace cortado {

/// With the clocks of its file, whatever they draw.
inline Machine at_fixed_clocks(const std::string& name) {
  Machine machine = load_machine(name).value();
  machine.clock = ClockMode::fixed;
  return machine;
}

inline const Machine& mi300x() {
  static const Machine machine = at_fixed_clocks("mi300x-8");
  return machine;
}

inline constexpr std::uint32_t kUnits = 304;  // of it

}  // namespace cortado
