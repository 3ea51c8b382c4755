#include "report/heat_map.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "report/svg.hpp"

namespace cortado::report {
namespace {

constexpr double kHeatLeft = 110;
constexpr double kHeatTop = 44;
constexpr double kHeatBottom = 52;
constexpr double kHeatWidth = 1040;
constexpr double kWidestCell = 110;
constexpr double kRowHeight = 38;
/// Cells narrower than this have no text.
constexpr double kLeastForText = 34;

std::string heat_cell(const HeatMap& map, std::size_t i, std::size_t j, double side, double least, double most) {
  const auto& cell = map.cells[j * map.x.size() + i];
  const double x = kHeatLeft + side * static_cast<double>(i);
  const double y = kHeatTop + kRowHeight * static_cast<double>(map.y.size() - 1 - j);
  const std::string where = fmt::format("{} {}, {} {}", map.x_name, map.x[i], map.y_name, map.y[j]);
  const std::string what = cell ? fmt::format("{:.4g} {}", cell->value, cell->label) : std::string("nothing known");
  std::string out = fmt::format("<g><title>{}: {}</title>", escape_html(where), escape_html(what));
  const double strength = !cell ? 0 : most > least ? 0.12 + 0.78 * (cell->value - least) / (most - least) : 0.5;
  out +=
      fmt::format("<rect x='{:.1f}' y='{:.1f}' width='{:.1f}' height='{:.1f}' rx='3' fill='{}' fill-opacity='{:.2f}'/>",
                  x + 1, y + 1, side - 2, kRowHeight - 2, series_colour(0), strength);
  if (cell && side >= kLeastForText) {
    out += fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='middle' font-size='12'>{:.3g}</text>", x + side / 2,
                       y + (cell->label.empty() ? 23 : 16), cell->value);
    const std::size_t fits = static_cast<std::size_t>(side / 5.5);
    if (!cell->label.empty()) {
      out += fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='middle' font-size='9'>{}</text>", x + side / 2,
                         y + 30, escape_html(cell->label.substr(0, fits)));
    }
  }
  return out + "</g>\n";
}

}  // namespace

std::string svg(const HeatMap& map) {
  double least = std::numeric_limits<double>::infinity();
  double most = -least;
  for (const auto& cell : map.cells) {
    if (!cell) continue;
    least = std::min(least, cell->value);
    most = std::max(most, cell->value);
  }
  const auto columns = static_cast<double>(std::max<std::size_t>(map.x.size(), 1));
  const double side = std::min(kWidestCell, (kHeatWidth - kHeatLeft) / columns);
  const double bottom = kHeatTop + kRowHeight * static_cast<double>(map.y.size());
  std::string out = fmt::format("<svg viewBox='0 0 {} {:.0f}' role='img' aria-label='{}'>\n", kHeatWidth,
                                bottom + kHeatBottom, escape_html(map.title));
  out += fmt::format("<text x='8' y='18' class='title'>{}</text>\n", escape_html(map.title));
  out += axis_text(kHeatLeft - 8, kHeatTop - 8, "end", map.y_name);
  for (std::size_t j = 0; j < map.y.size(); ++j) {
    const double y = kHeatTop + kRowHeight * (static_cast<double>(map.y.size() - 1 - j) + 0.5) + 4;
    out += axis_text(kHeatLeft - 8, y, "end", map.y[j]);
    for (std::size_t i = 0; i < map.x.size(); ++i) out += heat_cell(map, i, j, side, least, most);
  }
  for (std::size_t i = 0; i < map.x.size(); ++i) {
    const double x = kHeatLeft + side * (static_cast<double>(i) + 0.5);
    out += axis_text(x, bottom + 18, "middle", map.x[i]);
  }
  out += axis_text(kHeatLeft + side * columns / 2, bottom + 40, "middle", map.x_name);
  return out + "</svg>\n";
}

}  // namespace cortado::report
