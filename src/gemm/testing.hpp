// The machine of most tests of products.
#pragma once

#include <cstdint>

#include "cortado/machine/machine.hpp"

namespace cortado {

inline const Machine& mi300x() {
  static const Machine machine = load_machine("mi300x-8").value();
  return machine;
}

inline constexpr std::uint32_t kUnits = 304;  // of it

}  // namespace cortado
