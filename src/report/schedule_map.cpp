#include "report/schedule_map.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "report/energy.hpp"

namespace cortado::report {
namespace {

constexpr double kClose = 1.01;
constexpr const char* kMapAbout =
    "the strategy that `cortado overlap` recommends, and its speed-up over serial, simulated";

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

}  // namespace

bool MapCell::is_close() const {
  const auto close = [&](const auto& time) { return time && over(*time, *times[*winner]) <= kClose; };
  return winner && std::ranges::count_if(times, close) > 1;
}

std::optional<double> MapCell::speedup() const {
  return winner ? std::optional(over(serial, *times[*winner])) : std::nullopt;
}

std::size_t ScheduleMap::won(std::size_t schedule) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(cells, [&](const MapCell& cell) { return cell.winner == schedule; }));
}

std::string schedule_map_text(const ScheduleMap& map) {
  std::string text = fmt::format("# {}\n# {}\n", map_title(map), kMapAbout);
  for (std::size_t i = 0; i < map.schedules.size(); ++i) {
    text += fmt::format("#   {} {}: {} of {}\n", map.letters[i], map.schedules[i], map.won(i), map.cells.size());
  }
  text += "#   ~ another strategy is within 1 %; . nothing fits in memory\n";
  constexpr int kCell = 8;
  text += fmt::format("{:>6} \\ M", "K");
  for (const std::uint64_t m : map.m) text += fmt::format("{:>{}}", map_number(m), kCell);
  text += "\n";
  for (std::size_t j = map.k.size(); j-- > 0;) {
    text += fmt::format("{:>10}", map_number(map.k[j]));
    for (std::size_t i = 0; i < map.m.size(); ++i) {
      const MapCell& cell = map.at(i, j);
      const std::string field = cell.winner ? fmt::format("{}{}{:.2f}", map.letters[*cell.winner],
                                                          cell.is_close() ? "~" : " ", *cell.speedup())
                                            : ".";
      text += fmt::format("{:>{}}", field, kCell);
    }
    text += "\n";
  }
  return text;
}

Document schedule_map_document(const ScheduleMap& map) {
  Document document{.schema = "cortado.schedule_map", .title = map_title(map)};
  document.about = {kMapAbout};
  document.facts = {{"collective", map.collective, "name of the collective"},
                    {"product_first", map.product_first, "the collective consumes the GEMM's output"},
                    {"n", map.n, "columns of the GEMM on each GPU"},
                    {"dtype", map.dtype, "element type"},
                    {"ranks", map.ranks, "number of GPUs"},
                    {"machine", map.machine, "modelled machine"},
                    {"schedules", map.schedules, "strategies that were compared"}};
  std::vector<Field<MapCell>> fields{
      {{.key = "m", .head = "M", .meaning = "rows of the GEMM on each GPU"},
       [](const MapCell& cell) { return Cell(cell.m).shown_as(map_number(cell.m)); }},
      {{.key = "k", .head = "K", .meaning = "depth"},
       [](const MapCell& cell) { return Cell(cell.k).shown_as(map_number(cell.k)); }},
      {{.key = "winner",
        .head = "use",
        .meaning = "recommended strategy, without its number of chunks; null: nothing fits"},
       [&](const MapCell& cell) { return cell.winner ? Cell(map.schedules[*cell.winner]) : Cell(); }},
      {{.key = "choice", .head = "in full", .meaning = "the same with its number of chunks, as in cortado overlap"},
       [](const MapCell& cell) { return cell.winner ? Cell(cell.choice) : Cell(); }},
      {{.key = "speedup", .head = "speed-up", .digits = 2, .meaning = "of the winner over serial"}, &MapCell::speedup},
      {{.key = "close", .head = "another within 1 %", .meaning = "another strategy takes at most 1 % longer"},
       &MapCell::is_close}};
  const auto by_schedule = [&](const char* key, const char* unit, const char* meaning, View view, const auto& value) {
    for (std::size_t i = 0; i < map.schedules.size(); ++i) {
      fields.push_back({{.key = fmt::format("{}.{}", key, map.schedules[i]),
                         .head = map.schedules[i],
                         .unit = unit,
                         .digits = 1,
                         .meaning = meaning,
                         .view = view},
                        [i, value](const MapCell& cell) -> Cell { return value(cell, i); }});
    }
  };
  const auto energy = [](const MapCell& cell, std::size_t i) {
    return i < cell.energies.size() ? cell.energies[i] : std::nullopt;
  };
  by_schedule(
      "times_us", "us", "by strategy, with its best number of chunks; null: it does not fit", View::narrow,
      [](const MapCell& cell, std::size_t i) { return cell.times[i] ? Cell(microseconds(*cell.times[i])) : Cell(); });
  by_schedule("energy_J", "J", "energy of all GPUs, by strategy; null also without `[power]`", View::data,
              [energy](const MapCell& cell, std::size_t i) { return energy_cells(energy(cell, i))[0]; });
  by_schedule("power_W", "W", "of one GPU, the same", View::data,
              [energy](const MapCell& cell, std::size_t i) { return energy_cells(energy(cell, i))[1]; });
  document.tables = {table_of("cells", "one per GEMM", fields, map.cells)};
  document.tables.front().charts = {{.kind = Chart::Kind::map,
                                     .title = "Recommended strategy",
                                     .values = {"winner"},
                                     .labels = {"m", "k"},
                                     .series = {"speedup"},
                                     .about = "Over rows (M) and depth (K) of the GEMM; numbers: speed-up over serial. "
                                              "Empty where nothing fits in memory."}};
  return document;
}

}  // namespace cortado::report
