#include "sim/power/activity.hpp"

#include <algorithm>
#include <limits>

namespace cortado::sim {

/// With contention: GEMMs ask for P f' / f of what is full, others for O, and its capacity is C'; so of their full
/// speed, which follows the clock, they get the share C' / (P f' / f + O).
double GpuActivity::speed_at(const Clocks& other) const {
  double speed = bound() ? std::numeric_limits<double>::infinity() : 1;
  for (std::size_t i = 0; i < kClocked.size(); ++i) {
    if (contended(kClocked[i])) continue;
    if (needed[i] > 0) speed = std::min(speed, other.of(kClocked[i]) / needed[i]);
  }
  if (contention.share >= 1) return speed;
  const double faster = other.xcd / clocks.xcd;
  const double before = clocks.of(contention.at);
  const double room = before > 0 ? other.of(contention.at) / before : 1;
  const double asked = (contention.of_products * faster + 1 - contention.of_products) / contention.share;
  return std::min(speed, faster * std::min(1.0, room / asked) / contention.share);
}

double GpuActivity::watts_at(const Clocks& other) const {
  return PredictedDraw(*this).watts_at(other);
}

PredictedDraw::PredictedDraw(const GpuActivity& activity)
    : activity_(activity),
      before_(part_scales(*activity.power, activity.clocks)),
      at_(activity.clocks),
      after_(before_) {}

double PredictedDraw::watts_at(const Clocks& clocks) {
  for (const Component component : kClocked) {
    if (clocks.of(component) == at_.of(component)) continue;
    rescale(after_, *activity_.power, component, clocks.of(component));
  }
  at_ = clocks;
  const double speed = activity_.speed_at(clocks);
  const auto predicted = [&](const Energy& watts) {
    double sum = 0;
    double rest = 0;
    for (std::size_t i = 0; i < kEnergyParts.size(); ++i) {
      const auto part = static_cast<EnergyPart>(i);
      if (part == EnergyPart::rest_loss) continue;
      const double scaled = watts.joules[i] * after_[i] / before_[i] * (kFollowsWork[i] ? speed : 1);
      (part == EnergyPart::rest_idle ? rest : sum) += scaled;
    }
    return rest + (1 + activity_.power->loss) * sum;
  };
  return std::max(predicted(activity_.mean_watts), predicted(activity_.watts_now));
}

}  // namespace cortado::sim
