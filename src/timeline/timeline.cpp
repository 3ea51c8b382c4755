#include "cortado/timeline/timeline.hpp"

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

}  // namespace cortado
