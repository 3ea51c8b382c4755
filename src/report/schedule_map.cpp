#include "report/schedule_map.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "report/energy.hpp"
#include "report/html_page.hpp"
#include "report/svg.hpp"

namespace cortado::report {
namespace {

constexpr double kClose = 1.01;

double over(Nanoseconds a, Nanoseconds b) {
  return static_cast<double>(a.value) / static_cast<double>(b.value);
}

std::string map_title(const ScheduleMap& map) {
  const std::string product = fmt::format("M x {} x K {}", map.n, map.dtype);
  return map.product_first
             ? fmt::format("{}, then {}, on {} ranks of {}", product, map.collective, map.ranks, map.machine)
             : fmt::format("{}, then {} of its output, on {} ranks of {}", map.collective, product, map.ranks,
                           map.machine);
}

/// 131072 -> "128Ki"
std::string map_number(std::uint64_t value) {
  return value >= 1024 && value % 1024 == 0 ? fmt::format("{}Ki", value / 1024) : fmt::format("{}", value);
}

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

std::optional<std::size_t> MapCell::winner() const {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i] && (!best || *times[i] < *times[*best])) best = i;
  }
  return best;
}

bool MapCell::is_close() const {
  const auto best = winner();
  if (!best) return false;
  return std::ranges::count_if(times, [&](const auto& time) { return time && over(*time, *times[*best]) <= kClose; }) >
         1;
}

std::optional<double> ScheduleMap::speedup(const MapCell& cell) const {
  const auto best = cell.winner();
  if (!best || !cell.times.front()) return {};
  return over(*cell.times.front(), *cell.times[*best]);
}

std::size_t ScheduleMap::won(std::size_t schedule) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(cells, [&](const MapCell& cell) { return cell.winner() == schedule; }));
}

std::string schedule_map_text(const ScheduleMap& map) {
  std::string text = fmt::format("# {}\n# the fastest schedule and its speed-up over {}, simulated\n", map_title(map),
                                 map.schedules.front());
  for (std::size_t i = 0; i < map.schedules.size(); ++i) {
    text += fmt::format("#   {} {}: {} of {}\n", map.letters[i], map.schedules[i], map.won(i), map.cells.size());
  }
  text += "#   ~ another one takes at most 1 % longer; . nothing fits the memory or can be cut so far\n";
  constexpr int kCell = 8;
  text += fmt::format("{:>6} \\ M", "K");
  for (const std::uint64_t m : map.m) text += fmt::format("{:>{}}", map_number(m), kCell);
  text += "\n";
  for (std::size_t j = map.k.size(); j-- > 0;) {
    text += fmt::format("{:>10}", map_number(map.k[j]));
    for (std::size_t i = 0; i < map.m.size(); ++i) {
      const MapCell& cell = map.at(i, j);
      const auto best = cell.winner();
      const auto speedup = map.speedup(cell);
      const std::string number = speedup ? fmt::format("{:.2f}", *speedup) : "-";
      text += best ? fmt::format("{:>{}}",
                                 fmt::format("{}{}{}", map.letters[*best], cell.is_close() ? "~" : " ", number), kCell)
                   : fmt::format("{:>{}}", ".", kCell);
    }
    text += "\n";
  }
  return text;
}

Document schedule_map_document(const ScheduleMap& map) {
  Document document{.schema = "cortado.schedule_map"};
  document.facts = {{"collective", map.collective, "which one"},
                    {"product_first", map.product_first, "the collective consumes the GEMM's output"},
                    {"n", map.n, "columns that one GPU multiplies"},
                    {"dtype", map.dtype, "element type"},
                    {"ranks", map.ranks, "GPUs that take part"},
                    {"machine", map.machine, "modelled machine"},
                    {"schedules", map.schedules, "that were tried; the first is what speed-ups are over"}};
  std::vector<Field<MapCell>> fields{
      {{.key = "m", .meaning = "rows of all GPUs"}, &MapCell::m},
      {{.key = "k", .meaning = "depth"}, &MapCell::k},
      {{.key = "winner", .meaning = "the fastest schedule; null: nothing fits"},
       [&](const MapCell& cell) { return cell.winner() ? Cell(map.schedules[*cell.winner()]) : Cell(); }},
      {{.key = "speedup", .meaning = "of the winner over the first schedule; null if that does not fit"},
       [&](const MapCell& cell) { return map.speedup(cell); }},
      {{.key = "close", .meaning = "another one takes at most 1 % longer"}, &MapCell::is_close}};
  const auto by_schedule = [&](const char* key, const char* meaning, const auto& value) {
    for (std::size_t i = 0; i < map.schedules.size(); ++i) {
      fields.push_back({{.key = fmt::format("{}.{}", key, map.schedules[i]), .meaning = meaning},
                        [i, value](const MapCell& cell) -> Cell { return value(cell, i); }});
    }
  };
  const auto energy = [](const MapCell& cell, std::size_t i) {
    return i < cell.energies.size() ? cell.energies[i] : std::nullopt;
  };
  by_schedule(
      "times_us", "by schedule; null: it does not fit, or cannot be cut so far",
      [](const MapCell& cell, std::size_t i) { return cell.times[i] ? Cell(microseconds(*cell.times[i])) : Cell(); });
  by_schedule("energy_J", "of all GPUs, by schedule; null also without `[power]`",
              [energy](const MapCell& cell, std::size_t i) { return energy_cells(energy(cell, i))[0]; });
  by_schedule("power_W", "of one GPU, the same",
              [energy](const MapCell& cell, std::size_t i) { return energy_cells(energy(cell, i))[1]; });
  document.tables = {table_of("cells", "one per GEMM", fields, map.cells)};
  return document;
}

std::string schedule_map_html(const ScheduleMap& map) {
  std::string body = fmt::format("<h1>{}</h1>\n", escape_html(map_title(map)));
  body += fmt::format(
      "<p>The fastest schedule and its speed-up over {}, simulated; stronger colour: more is won. ~: another one takes "
      "at most 1 % longer. Empty: nothing fits the memory or can be cut so far. Point at a field for all times.</p>\n",
      escape_html(map.schedules.front()));
  return html_page("Fastest schedules", body + legend(map) + picture(map));
}

}  // namespace cortado::report
