#include "cortado/report/energy.hpp"

#include <vector>

#include <fmt/format.h>

#include "cortado/base/text.hpp"

namespace cortado::report {
namespace {

std::string number(double joules) {
  constexpr double kFourDigits = 999.95;  // and above, rounded
  return joules >= kFourDigits ? fmt::format("{:.0f}", joules) : fmt::format("{:#.4g}", joules);
}

}  // namespace

std::string joules_text(const std::optional<EnergyUse>& use) {
  return use ? number(use->joules()) : "-";
}

std::string watts_text(const std::optional<EnergyUse>& use) {
  return use ? fmt::format("{:.1f}", use->watts()) : "-";
}

std::string components_text(const EnergyUse& use) {
  const double all = use.joules();
  std::vector<std::string> parts;
  for (const Component component : kComponents) {
    const double joules = use.energy.of(component);
    parts.push_back(fmt::format("{} {} J ({:.1f} %)", name_of(component), number(joules), 100 * joules / all));
  }
  return join(parts);
}

std::string energy_csv_names() {
  std::vector<std::string> names{"energy_J", "power_W"};
  for (const Component component : kComponents) names.push_back(fmt::format("{}_J", name_of(component)));
  return join(names, ",");
}

std::string energy_csv(const std::optional<EnergyUse>& use) {
  std::vector<std::string> cells(2 + kComponents.size());
  if (use) {
    cells[0] = fmt::format("{:.9g}", use->joules());
    cells[1] = fmt::format("{:.6g}", use->watts());
    for (std::size_t i = 0; i < kComponents.size(); ++i) {
      cells[2 + i] = fmt::format("{:.9g}", use->energy.of(kComponents[i]));
    }
  }
  return join(cells, ",");
}

}  // namespace cortado::report
