// Joules and watts as tables and documents show them; "-" and null where nobody counted them.
#pragma once

#include <optional>
#include <string>

#include "cortado/timeline/energy.hpp"

namespace cortado::report {

/// Of all GPUs, four digits of it or more: "0.01234", "12.34", "12345".
std::string joules_text(const std::optional<EnergyUse>& use);

/// Of one GPU, on average: "512.3".
std::string watts_text(const std::optional<EnergyUse>& use);

/// Of all GPUs: "xcd 1.200 J (12.0 %), iod 2.400 J (24.0 %), ...".
std::string components_text(const EnergyUse& use);

/// Names and cells of a line of comma-separated values: energy_J, power_W and joules by component, xcd_J, ...; empty
/// cells if there is none.
std::string energy_csv_names();
std::string energy_csv(const std::optional<EnergyUse>& use);

/// Adds energy_J, power_W and energy_by_component.
template <class Json>
void add_energy(const std::optional<EnergyUse>& use, Json& object) {
  object["energy_J"] = use ? Json(use->joules()) : Json();
  object["power_W"] = use ? Json(use->watts()) : Json();
  Json& components = object["energy_by_component"] = Json();
  if (!use) return;
  for (const Component component : kComponents) components[std::string(name_of(component))] = use->energy.of(component);
}

/// The row with these fields behind its own.
template <class Json>
Json with_energy(Json row, const std::optional<EnergyUse>& use) {
  add_energy(use, row);
  return row;
}

}  // namespace cortado::report
