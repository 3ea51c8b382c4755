// Stacked bars in groups, as inline SVG. Negative parts of a bar hang below the axis.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace cortado::report {

struct BarPart {
  std::size_t series = 0;  ///< index into BarChart::series
  double value = 0;
};

struct Bar {
  std::string label;  ///< below it; may be empty
  std::vector<BarPart> parts;
  std::string tooltip;
};

struct BarGroup {
  std::string label;
  std::vector<Bar> bars;
};

struct BarChart {
  std::string title;
  std::string unit;       ///< of the vertical axis
  std::string positions;  ///< what the labels of bars mean; may be empty
  std::vector<std::string> series;
  std::vector<BarGroup> groups;
  /// Higher bars are cut off there and have their height written above, so that the others can be told apart.
  double most = std::numeric_limits<double>::infinity();
};

/// An <svg> element with a legend; every bar has its tooltip.
std::string svg(const BarChart& chart);

}  // namespace cortado::report
