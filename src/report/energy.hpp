// Joules and watts as tables and documents show them; "-" and null where they were not counted.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "cortado/report.hpp"
#include "cortado/timeline.hpp"

namespace cortado::report {

/// Energy of all GPUs, with at least four digits: "0.01234", "12.34", "12345".
std::string joules_text(const std::optional<EnergyUse>& use);

/// Power of one GPU, on average: "512.3".
std::string watts_text(const std::optional<EnergyUse>& use);

/// Energy of all GPUs by component: "xcd 1.200 J (12.0 %), iod 2.400 J (24.0 %), ...".
std::string components_text(const EnergyUse& use);

/// Columns energy_J, power_W and energy_by_component; the last is shown in wide text only.
std::vector<Column> energy_columns(View view = View::narrow);
/// Empty if energy was not counted.
Row energy_cells(const std::optional<EnergyUse>& use);

/// These columns appended to `fields`.
template <class Item>
std::vector<Field<Item>> with_energy(
    std::vector<Field<Item>> fields,
    const std::type_identity_t<std::function<std::optional<EnergyUse>(const Item&)>>& use, View view = View::narrow) {
  std::size_t i = 0;
  for (const Column& column : energy_columns(view)) {
    fields.push_back({column, [use, i](const Item& item) { return energy_cells(use(item))[i]; }});
    ++i;
  }
  return fields;
}

/// The same as facts, with keys that begin with `prefix`.
std::vector<Fact> energy_facts(const std::optional<EnergyUse>& use, const std::string& prefix = "");

/// Whether a limit slows work down although its watts under the board's cap alone, on average, are below it.
bool slows_below_limit(double watts, double times_longer, std::optional<double> limit_w);
/// Why it does.
std::string below_limit_note(std::string_view what);

/// Adds energy_J, power_W and energy_by_component.
template <class Json>
void add_energy(const std::optional<EnergyUse>& use, Json& object) {
  object["energy_J"] = use ? Json(use->joules()) : Json();
  object["power_W"] = use ? Json(use->watts()) : Json();
  Json& components = object["energy_by_component"] = Json();
  if (!use) return;
  for (const Component component : kComponents) components[std::string(name_of(component))] = use->energy.of(component);
}

/// The row with these fields appended.
template <class Json>
Json with_energy(Json row, const std::optional<EnergyUse>& use) {
  add_energy(use, row);
  return row;
}

}  // namespace cortado::report
