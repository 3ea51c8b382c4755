#include <limits>

#include "cortado/report.hpp"

namespace cortado::report {

double cost_of(Nanoseconds time, const std::optional<EnergyUse>& energy, Objective objective) {
  if (objective == Objective::time) return static_cast<double>(time.value);
  if (!energy) return std::numeric_limits<double>::infinity();
  return objective == Objective::energy ? energy->joules() : energy->energy_delay();
}

}  // namespace cortado::report
