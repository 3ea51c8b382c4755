// Stacked areas over time as inline SVG, with a level drawn across.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace cortado::report {

/// Values hold from `at` to that of the next step.
struct AreaStep {
  double at = 0;
  std::vector<double> values;  ///< one for each series, none below 0
};

struct AreaChart {
  std::string title;
  std::string unit;                 ///< of the vertical axis
  std::string time_unit;            ///< of the horizontal axis
  std::vector<std::string> series;  ///< from the lowest area up
  std::vector<AreaStep> steps;      ///< ascending
  double end = 0;                   ///< of the last step
  double most = 0;                  ///< that the vertical axis must reach, so that charts can be compared
  struct Level {
    std::string name;
    double value = 0;
  };
  std::optional<Level> level{};
};

/// An <svg> element with a legend.
std::string svg(const AreaChart& chart);

}  // namespace cortado::report
