// Values over two axes as a field of coloured cells, inline SVG.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace cortado::report {

struct HeatCell {
  double value = 0;
  std::string label{};  ///< second line; may be empty
};

struct HeatMap {
  std::string title;
  std::string x_name;
  std::string y_name;
  std::vector<std::string> x;                  ///< from the left
  std::vector<std::string> y;                  ///< from below
  std::vector<std::optional<HeatCell>> cells;  ///< all x of the first y, then of the next; none: nothing known
};

/// An <svg> element. The least value has the palest colour; every cell has a tooltip.
std::string svg(const HeatMap& map);

}  // namespace cortado::report
