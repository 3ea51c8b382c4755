#include "cortado/timeline.hpp"

#include <algorithm>

namespace cortado {

Nanoseconds median_time(const Timeline& timeline) {
  std::vector<Nanoseconds> times = timeline.iteration_times;
  if (times.empty()) return {};
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  if (times.size() % 2 == 1) return *middle;
  const Nanoseconds below = *std::max_element(times.begin(), middle);
  return {below.value + (middle->value - below.value) / 2};
}

std::optional<EnergyUse> energy_of_iteration(const Timeline& timeline) {
  if (!timeline.energy || timeline.iteration_energies.empty()) return std::nullopt;
  const double share = 1 / static_cast<double>(timeline.iteration_energies.size());
  EnergyUse use{.energy = {}, .seconds = 0, .gpus = timeline.energy->gpus};
  for (const Energy& energy : timeline.iteration_energies) use.energy += energy;
  for (const Nanoseconds time : timeline.iteration_times) use.seconds += static_cast<double>(time.value) * 1e-9;
  use.energy = use.energy * share;
  use.seconds *= share;
  return use;
}

Nanoseconds upper_median(std::vector<Nanoseconds> values) {
  if (values.empty()) return {};
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace cortado
