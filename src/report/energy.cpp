#include "report/energy.hpp"

#include <array>
#include <limits>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cortado/report.hpp"

#include "base/text.hpp"

namespace cortado::report {
namespace {

std::string number(double joules) {
  constexpr double kFourDigits = 999.95;  // and above, rounded
  return joules >= kFourDigits ? fmt::format("{:.0f}", joules) : fmt::format("{:#.4g}", joules);
}

constexpr std::array<std::string_view, kComponents.size()> kDescriptions{
    "compute dies with their L2",
    "I/O dies: fabric, last-level cache, memory controllers, links, DMA engines",
    "memory",
    "the rest of the board",
};

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

std::vector<Column> energy_columns(View view) {
  std::vector<Column> columns{
      {"energy_J", "energy", "J", 4, "energy of all GPUs in one iteration (mean over all iterations); see Energy", view,
       Notation::significant},
      {"power_W", "per GPU", "W", 1, "power of one GPU, averaged over the iteration", view}};
  for (const Component component : kComponents) {
    const std::string name(name_of(component));
    columns.push_back({.key = "energy_by_component." + name,
                       .head = name,
                       .unit = "J",
                       .digits = 4,
                       .meaning = fmt::format("joules of {}", kDescriptions[columns.size() - 2]),
                       .view = view == View::data ? view : View::wide,
                       .notation = Notation::significant,
                       .csv = name + "_J"});
  }
  return columns;
}

Row energy_cells(const std::optional<EnergyUse>& use) {
  if (!use) return Row(2 + kComponents.size());
  Row cells{use->joules(), use->watts()};
  for (const Component component : kComponents) cells.emplace_back(use->energy.of(component));
  return cells;
}

std::vector<Fact> energy_facts(const std::optional<EnergyUse>& use, const std::string& prefix) {
  std::vector<Fact> facts;
  const Row cells = energy_cells(use);
  for (const Column& column : energy_columns()) {
    facts.push_back({prefix + column.key, cells[facts.size()], column.meaning});
  }
  return facts;
}

bool slows_below_limit(double watts, double times_longer, std::optional<double> limit_w) {
  constexpr double kNoticed = 1.01;
  return limit_w && watts < *limit_w && times_longer > kNoticed;
}

std::string below_limit_note(std::string_view what) {
  return fmt::format(
      "{} under uniform-cap is slowed down although it draws less than the limit on average: the limit also holds for "
      "the power at the end of every control interval, while a kernel runs, which peaks (averages of an interval) hide",
      what);
}

double cost_of(Nanoseconds time, const std::optional<EnergyUse>& energy, Objective objective) {
  if (objective == Objective::time) return static_cast<double>(time.value);
  if (!energy) return std::numeric_limits<double>::infinity();
  return objective == Objective::energy ? energy->joules() : energy->energy_delay();
}

}  // namespace cortado::report
