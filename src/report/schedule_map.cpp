#include "cortado/report/schedule_map.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "cortado/base/text.hpp"

#include "report/overlap_parts.hpp"
#include "report/schedule_map_parts.hpp"

namespace cortado::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kClose = 1.01;

double over(Nanoseconds a, Nanoseconds b) {
  return static_cast<double>(a.value) / static_cast<double>(b.value);
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

std::string map_title(const ScheduleMap& map) {
  const std::string product = fmt::format("M x {} x K {}", map.n, map.dtype);
  return map.product_first
             ? fmt::format("{}, then {}, on {} ranks of {}", product, map.collective, map.ranks, map.machine)
             : fmt::format("{}, then {} of what it brings, on {} ranks of {}", map.collective, product, map.ranks,
                           map.machine);
}

std::string map_number(std::uint64_t value) {
  return value >= 1024 && value % 1024 == 0 ? fmt::format("{}Ki", value / 1024) : fmt::format("{}", value);
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

std::string schedule_map_json(const ScheduleMap& map) {
  Json document{{"schema", "cortado.schedule_map"},
                {"version", 1},
                {"collective", map.collective},
                {"product_first", map.product_first},
                {"n", map.n},
                {"dtype", map.dtype},
                {"ranks", map.ranks},
                {"machine", map.machine},
                {"schedules", map.schedules},
                {"cells", Json::array()}};
  for (const MapCell& cell : map.cells) {
    const auto best = cell.winner();
    const auto speedup = map.speedup(cell);
    Json times = Json::object();
    Json joules = Json::object();
    Json watts = Json::object();
    for (std::size_t i = 0; i < map.schedules.size(); ++i) {
      const std::string& schedule = map.schedules[i];
      const auto energy = i < cell.energies.size() ? cell.energies[i] : std::nullopt;
      times[schedule] = cell.times[i] ? Json(microseconds(*cell.times[i])) : Json();
      joules[schedule] = energy ? Json(energy->joules()) : Json();
      watts[schedule] = energy ? Json(energy->watts()) : Json();
    }
    document["cells"].push_back({{"m", cell.m},
                                 {"k", cell.k},
                                 {"winner", best ? Json(map.schedules[*best]) : Json()},
                                 {"speedup", speedup ? Json(*speedup) : Json()},
                                 {"close", cell.is_close()},
                                 {"times_us", times},
                                 {"energy_J", joules},
                                 {"power_W", watts}});
  }
  return to_text(document);
}

}  // namespace cortado::report
