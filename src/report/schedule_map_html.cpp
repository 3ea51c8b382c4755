#include <algorithm>

#include <fmt/format.h>

#include "report/html_page.hpp"
#include "report/schedule_map_parts.hpp"
#include "report/svg.hpp"

namespace cortado::report {
namespace {

constexpr double kMapWidth = 1040;
constexpr double kMapLeft = 70;
constexpr double kMapTop = 24;
constexpr double kMapBottom = 54;
constexpr double kMostCell = 84;

/// Grey for the first, which the others are compared with.
std::string_view colour_of(std::size_t schedule) {
  return series_colour(schedule + 6);
}

std::string tooltip(const ScheduleMap& map, const MapCell& cell) {
  std::string text = fmt::format("M {} K {}", cell.m, cell.k);
  if (const auto speedup = map.speedup(cell)) {
    text += fmt::format(": {} is {:.3f} times as fast as {}", map.schedules[*cell.winner()], *speedup,
                        map.schedules.front());
  }
  for (std::size_t i = 0; i < map.schedules.size(); ++i) {
    text += fmt::format("\n{} {}", map.schedules[i],
                        cell.times[i] ? fmt::format("{:.1f} us", microseconds(*cell.times[i])) : "cannot be planned");
  }
  return text;
}

/// Stronger where more is won: 1 (nothing) to 2 times as fast.
double strength(const std::optional<double>& speedup) {
  return 0.45 + 0.55 * std::clamp(speedup.value_or(1) - 1, 0.0, 1.0);
}

std::string drawn(const ScheduleMap& map, const MapCell& cell, double x, double y, double side) {
  const auto best = cell.winner();
  const auto speedup = map.speedup(cell);
  std::string out = fmt::format("<g><title>{}</title>", escape_html(tooltip(map, cell)));
  out += fmt::format("<rect x='{:.1f}' y='{:.1f}' width='{:.1f}' height='{:.1f}' rx='3' ", x + 1, y + 1, side - 2,
                     side * 0.6 - 2);
  out += best ? fmt::format("fill='{}' fill-opacity='{:.2f}'/>", colour_of(*best), strength(speedup))
              : std::string("fill='transparent' class='grid'/>");
  if (best) {
    out += fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='middle' font-size='{:.1f}'>{}{}{}</text>",
                       x + side / 2, y + side * 0.3 + 4, std::min(13.0, side * 0.19), map.letters[*best],
                       cell.is_close() ? "~" : " ", speedup ? fmt::format("{:.2f}", *speedup) : "");
  }
  return out + "</g>\n";
}

std::string picture(const ScheduleMap& map) {
  const double side =
      std::min(kMostCell, (kMapWidth - kMapLeft) / static_cast<double>(std::max<std::size_t>(map.m.size(), 1)));
  const double row = side * 0.6;
  const double bottom = kMapTop + row * static_cast<double>(map.k.size());
  std::string out = fmt::format("<svg viewBox='0 0 {} {:.0f}' role='img' aria-label='fastest schedule'>\n", kMapWidth,
                                bottom + kMapBottom);
  out += fmt::format("<text x='{}' y='16' class='tick' text-anchor='end'>K</text>\n", kMapLeft - 8);
  for (std::size_t j = 0; j < map.k.size(); ++j) {
    const double y = bottom - row * static_cast<double>(j + 1);
    out += fmt::format("<text x='{}' y='{:.1f}' class='tick' text-anchor='end'>{}</text>\n", kMapLeft - 8,
                       y + row / 2 + 4, map_number(map.k[j]));
    for (std::size_t i = 0; i < map.m.size(); ++i) {
      out += drawn(map, map.at(i, j), kMapLeft + side * static_cast<double>(i), y, side);
    }
  }
  for (std::size_t i = 0; i < map.m.size(); ++i) {
    out += fmt::format("<text x='{:.1f}' y='{:.1f}' class='tick' text-anchor='middle'>{}</text>\n",
                       kMapLeft + side * (static_cast<double>(i) + 0.5), bottom + 18, map_number(map.m[i]));
  }
  out += fmt::format("<text x='{:.1f}' y='{:.1f}' class='tick' text-anchor='middle'>M, rows of all ranks</text>\n",
                     kMapLeft + side * static_cast<double>(map.m.size()) / 2, bottom + 40);
  return out + "</svg>\n";
}

std::string legend(const ScheduleMap& map) {
  std::string out = "<p>";
  for (std::size_t i = 0; i < map.schedules.size(); ++i) {
    out += fmt::format(
        "<span style='white-space:nowrap'><svg viewBox='0 0 12 12' style='width:.8rem;border:0'><rect width='12' "
        "height='12' rx='2' fill='{}'/></svg> "
        "{} {} ({} of {})</span> &emsp;",
        colour_of(i), map.letters[i], escape_html(map.schedules[i]), map.won(i), map.cells.size());
  }
  return out + "</p>\n";
}

}  // namespace

std::string schedule_map_html(const ScheduleMap& map) {
  std::string body = fmt::format("<h1>{}</h1>\n", escape_html(map_title(map)));
  body += fmt::format(
      "<p>The fastest schedule and its speed-up over {}, simulated; stronger colour: more is won. ~: another one takes "
      "at most 1 % longer. Empty: nothing fits the memory or can be cut so far. Point at a field for all times.</p>\n",
      escape_html(map.schedules.front()));
  return html_page("Fastest schedules", body + legend(map) + picture(map));
}

}  // namespace cortado::report
