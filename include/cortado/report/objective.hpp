// What ways to do the same thing are ranked by.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "cortado/base/units.hpp"
#include "cortado/timeline/energy.hpp"

namespace cortado::report {

enum class Objective {
  time,
  energy,  ///< of all GPUs
  edp,     ///< energy-delay product: energy times time
};

inline constexpr std::array<std::pair<std::string_view, Objective>, 3> kObjectives{
    {{"time", Objective::time}, {"energy", Objective::energy}, {"edp", Objective::edp}}};

constexpr std::string_view name_of(Objective objective) {
  return kObjectives[static_cast<std::size_t>(objective)].first;
}

constexpr std::optional<Objective> find_objective(std::string_view name) {
  for (const auto& [known, objective] : kObjectives) {
    if (known == name) return objective;
  }
  return std::nullopt;
}

/// Nanoseconds, joules or joule seconds: less is better. Infinite where the energy is wanted and nobody counted it.
double cost_of(Nanoseconds time, const std::optional<EnergyUse>& energy, Objective objective);

}  // namespace cortado::report
