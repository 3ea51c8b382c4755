#include "pipeline/overlap/objective.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "cortado/base/check.hpp"
#include "cortado/base/text.hpp"
#include "cortado/report/energy.hpp"
#include "cortado/sim/power.hpp"

namespace cortado::pipeline {
namespace {

using report::Objective;

/// "5 % less time", "5 % more energy", "as much energy"
std::string against(double value, double best, std::string_view what) {
  const double percent = std::round(100 * (value / best - 1));
  if (percent == 0) return fmt::format("as much {}", what);
  return fmt::format("{:.0f} % {} {}", std::abs(percent), percent < 0 ? "less" : "more", what);
}

/// "takes 5 % less time and 8 % more energy", than the best.
std::string both(const report::WayRow& row, const report::WayRow& best) {
  return fmt::format("takes {} and {}", against(microseconds(row.time), microseconds(best.time), "time"),
                     against(row.energy->joules(), best.energy->joules(), "energy"));
}

}  // namespace

Status check_objective(Objective objective, const Machine& machine, Times kind) {
  if (objective == Objective::time) return {};
  if (kind == Times::measured) {
    return fail("overlap.objective",
                fmt::format("ways cannot be ranked by {} on a device: nobody measures its energy", name_of(objective)),
                "predict with --on sim, or rank by time");
  }
  return sim::check_power(machine);
}

double cost_of(const report::WayRow& row, Objective objective) {
  return report::cost_of(row.time, row.energy, objective);
}

void add_cap_note(report::OverlapBasis& basis, const std::vector<NamedRow>& rows, const Machine& machine) {
  const auto above = [&](const NamedRow& named) {
    return machine.power && named.row->energy && named.row->energy->watts() > machine.power->cap_w;
  };
  if (std::ranges::none_of(rows, above)) return;
  if (!basis.note.empty()) basis.note += "; ";
  basis.note += fmt::format(
      "what draws more than the {:g} W of a board does so at the clocks of the machine file, which the cap would "
      "lower: "
      "see cortado power",
      machine.power->cap_w);
}

std::string energy_reason(const std::vector<NamedRow>& rows, const report::WayRow& best, Objective objective) {
  CORTADO_CHECK(best.energy.has_value(), "rows that are ranked by energy have one");
  std::vector<std::string> sentences{
      fmt::format("{} {} J in {:.1f} us, {} W a GPU",
                  objective == Objective::energy ? "it takes the least energy," : "energy times time is least:",
                  report::joules_text(best.energy), microseconds(best.time), report::watts_text(best.energy))};
  const auto fastest = std::ranges::min_element(rows, {}, [](const NamedRow& named) { return named.row->time; });
  if (fastest->row->time == best.time) {
    sentences.emplace_back("nothing is faster");
  } else {
    sentences.push_back(fmt::format("{}, the fastest, {}", fastest->name, both(*fastest->row, best)));
  }
  for (const NamedRow& named : rows) {
    const bool sequential = named.name == "serial" || named.name == "sequential";
    if (!sequential || named.row == &best || named.row == fastest->row) continue;
    sentences.push_back(fmt::format("{} {}", named.name, both(*named.row, best)));
  }
  return join(sentences, "; ");
}

}  // namespace cortado::pipeline
