#include "sim/power/activity.hpp"

#include <algorithm>
#include <limits>

namespace cortado::sim {

double GpuActivity::speed_at(const Clocks& other) const {
  double speed = bound() ? std::numeric_limits<double>::infinity() : 1;
  for (std::size_t i = 0; i < kClocked.size(); ++i) {
    if (needed[i] > 0) speed = std::min(speed, other.of(kClocked[i]) / needed[i]);
  }
  return speed;
}

double GpuActivity::watts_at(const Clocks& other) const {
  const PartScales before = part_scales(*power, clocks);
  const PartScales after = part_scales(*power, other);
  const double speed = speed_at(other);
  const auto predicted = [&](const Energy& watts) {
    double sum = 0;
    double rest = 0;
    for (std::size_t i = 0; i < kEnergyParts.size(); ++i) {
      const auto part = static_cast<EnergyPart>(i);
      if (part == EnergyPart::rest_loss) continue;
      const double scaled = watts.joules[i] * after[i] / before[i] * (follows_work(part) ? speed : 1);
      (part == EnergyPart::rest_idle ? rest : sum) += scaled;
    }
    return rest + (1 + power->loss) * sum;
  };
  return std::max(predicted(mean_watts), predicted(watts_now));
}

}  // namespace cortado::sim
