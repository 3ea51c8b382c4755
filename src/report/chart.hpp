// A chart as inline SVG: values over labelled positions as lines, published ones as rings of the same colour.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace cortado::report {

struct ChartSeries {
  std::string name;
  std::vector<std::optional<double>> line;   ///< one for each position; none: nothing drawn
  std::vector<std::optional<double>> rings;  ///< the same, of published values; may be empty
};

struct Chart {
  std::string title;
  std::string unit;                    ///< of the vertical axis
  std::vector<std::string> positions;  ///< labels along the horizontal axis
  std::vector<ChartSeries> series;
};

/// An <svg> element. Every point has a tooltip; series are told apart by colour and by their name at the right end.
std::string svg(const Chart& chart);

}  // namespace cortado::report
