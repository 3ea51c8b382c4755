#include "pipeline/power/over_time.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.hpp"

namespace cortado::pipeline {

std::vector<report::PowerSample> power_over_time(const Timeline& timeline) {
  std::vector<report::PowerSample> samples;
  for (std::size_t i = 0; i < kComponents.size(); ++i) {
    const std::string name = fmt::format("gpu 0 {}", kComponentNames[i]);
    const auto counter = std::ranges::find_if(timeline.counters,
                                              [&](const Counter& one) { return one.name == name && one.unit == "W"; });
    if (counter == timeline.counters.end()) return {};
    if (samples.empty()) {
      for (const CounterSample& sample : counter->samples) samples.push_back({sample.time, {}});
    }
    CORTADO_CHECK(samples.size() == counter->samples.size(), "components are sampled together");
    for (std::size_t j = 0; j < samples.size(); ++j) samples[j].watts[i] = counter->samples[j].value;
  }
  return samples;
}

}  // namespace cortado::pipeline
