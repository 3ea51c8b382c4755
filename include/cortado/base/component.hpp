// The parts of a GPU whose power is counted apart.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace cortado {

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

}  // namespace cortado
