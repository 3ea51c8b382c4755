#include "report/svg.hpp"

#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/text.hpp"

namespace cortado::report {

std::string escape_html(std::string_view text) {
  std::string out;
  for (const char c : escape_control(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '\'':
        out += "&#39;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string_view series_colour(std::size_t index) {
  constexpr std::array<std::string_view, 7> kColours{"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                     "#e69f00", "#56b4e9", "#7f7f7f"};
  return kColours[index % kColours.size()];
}

double round_up(double least) {
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 2.5, 5.0}) {
    if (factor * power >= least) return factor * power;
  }
  return 10 * power;
}

std::string axis_text(double x, double y, std::string_view anchor, std::string_view what) {
  return fmt::format("<text x='{:.1f}' y='{:.1f}' class='tick' text-anchor='{}'>{}</text>\n", x, y, anchor,
                     escape_html(what));
}

}  // namespace cortado::report
