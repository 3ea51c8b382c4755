#include "pipeline/power/settled.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "cortado/target.hpp"

#include "base/check.hpp"

namespace cortado::pipeline {

Status check_least_watts(std::string_view who_draws, double least_w, std::string_view what, double allowed_w) {
  if (least_w <= allowed_w) return {};
  return fail(
      "power.cap",
      fmt::format("{} {:.0f} W at the lowest clocks, but the {} is {:.0f} W", who_draws, least_w, what, allowed_w),
      fmt::format("use --{} {:.0f} or more", what, std::ceil(least_w)));
}

std::uint32_t settled_iterations(double seconds, const Power& power, std::uint32_t least) {
  constexpr double kSettled = 40;  // control intervals: clocks are then those of the load
  const double enough = std::ceil(kSettled * to_seconds(power.control_interval) / std::max(seconds, 1e-9));
  return static_cast<std::uint32_t>(std::clamp<double>(enough, least, sim::kMaxIterations));
}

EnergyUse settled_use(const Timeline& timeline) {
  CORTADO_CHECK(timeline.energy && timeline.iteration_energies.size() == timeline.iteration_times.size(),
                "the machine has power");
  EnergyUse use;
  use.gpus = timeline.energy->gpus;
  const std::size_t all = timeline.iteration_times.size();
  const std::size_t first = all / 2;
  for (std::size_t i = first; i < all; ++i) {
    use.energy += timeline.iteration_energies[i];
    use.seconds += to_seconds(timeline.iteration_times[i]);
  }
  const double share = 1 / static_cast<double>(all - first);
  use.energy = use.energy * share;
  use.seconds *= share;
  return use;
}

}  // namespace cortado::pipeline
