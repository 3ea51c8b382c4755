#include <algorithm>
#include <optional>
#include <string_view>

#include "cortado/program.hpp"
#include "cortado/study.hpp"

#include "pipeline/overlap/characterize_parts.hpp"
#include "sim/gpu/simulate.hpp"

namespace cortado::pipeline {
namespace {

/// Without the number of chunks: "hetero-fused-1d" of "hetero-fused-1d/8".
std::string family_name(const std::string& strategy) {
  return strategy.substr(0, strategy.find('/'));
}

/// The usual letter of a strategy, or the first that none of the others has.
char letter_of(std::string_view name, std::string_view taken) {
  constexpr std::pair<std::string_view, char> kLetters[] = {{"serial-dma", 'D'},
                                                            {"serial-direct", 'R'},
                                                            {"serial", 'S'},
                                                            {"shard-p2p", 'P'},
                                                            {"uniform-fused-1d", 'U'},
                                                            {"hetero-fused-1d", 'H'},
                                                            {"tiles", 'T'},
                                                            {"waves", 'W'},
                                                            {"hetero-unfused-1d", 'N'},
                                                            {"uniform-unfused-1d", 'V'},
                                                            {"c3", '3'},
                                                            {"t3-mca", 'A'},
                                                            {"t3", 'M'},
                                                            {"uniform-fused-2d", 'C'},
                                                            /* columns */ {"uniform-unfused-2d", 'E'},
                                                            {"hetero-unfused-2d", 'L'},
                                                            {"hetero-fused-2d", 'K'}};
  const auto is_free = [&](char letter) { return taken.find(letter) == std::string_view::npos; };
  for (const auto& [start, letter] : kLetters) {
    if (name.starts_with(start) && is_free(letter)) return letter;
  }
  constexpr std::string_view kAll = "XYZBFGIJOQRabcdefghijklmnopqrstuvwxyzACDEHKLMNPSTUVW";
  const auto letter = std::ranges::find_if(kAll, is_free);
  return letter == kAll.end() ? '?' : *letter;
}

/// Everything but the times.
report::ScheduleMap empty_map(const MapRequest& request, const Machine& machine) {
  report::ScheduleMap map;
  map.collective = request.collective.name();
  map.product_first = request.dependence == Dependence::product_first;
  map.dtype = std::string(to_string(request.dtype));
  map.n = request.n;
  map.ranks = request.ranks == 0 ? machine.gpus : request.ranks;
  map.machine = machine.name;
  map.m = request.m;
  map.k = request.k;
  for (const std::uint64_t m : map.m) {
    for (const std::uint64_t k : map.k) map.cells.push_back({.m = m, .k = k});
  }
  return map;
}

/// What one GPU multiplies.
GemmShape shape_of(const report::MapCell& cell, const MapRequest& request) {
  return {cell.m, request.n, cell.k, request.dtype};
}

/// A GEMM that is too large says nothing about the others.
Status check_shapes(const report::ScheduleMap& map, const MapRequest& request, const Machine& machine) {
  const DependentRequest smallest{.gemm = {map.ranks, 1, 1, request.dtype},
                                  .collective = request.collective,
                                  .dependence = request.dependence,
                                  .ranks = map.ranks};
  CORTADO_RETURN_IF_ERROR(plan_ficco(smallest, kSerial, machine));
  for (const report::MapCell& cell : map.cells) {
    Status checked = check_gemm(shape_of(cell, request), machine);
    if (!checked && checked.error().about != About::machine) return checked;
  }
  return {};
}

/// The columns of the map are the strategies of all cells, in the order in which studies have them.
void fill_map(const std::vector<std::optional<OverlapReport>>& reports, report::ScheduleMap& map) {
  const auto column_of = [&](const std::string& strategy) {
    const std::string name = family_name(strategy);
    const auto found = std::ranges::find(map.schedules, name);
    if (found != map.schedules.end()) return static_cast<std::size_t>(found - map.schedules.begin());
    map.schedules.push_back(name);
    map.letters += letter_of(name, map.letters);
    return map.schedules.size() - 1;
  };
  for (const auto& report : reports) {
    for (std::size_t i = 0; report && i < report->rows.size(); ++i) {
      if (!report->rows[i].bound) column_of(report->rows[i].strategy);
    }
  }
  for (std::size_t i = 0; i < reports.size(); ++i) {
    report::MapCell& cell = map.cells[i];
    cell.times.resize(map.schedules.size());
    cell.energies.resize(map.schedules.size());
    if (!reports[i]) continue;
    cell.serial = reports[i]->serial;
    cell.choice = reports[i]->choice;
    cell.winner = column_of(cell.choice);
    for (const OverlapRow& row : reports[i]->rows) {
      if (row.bound) continue;
      const std::size_t column = column_of(row.strategy);
      // Of several numbers of chunks, the chosen one, otherwise the fastest.
      const bool better = !cell.times[column] || (row.time < *cell.times[column] && column != cell.winner);
      if (!better && row.strategy != cell.choice) continue;
      cell.times[column] = row.time;
      cell.energies[column] = row.energy;
    }
  }
}

}  // namespace

Outcome<report::ScheduleMap> map_schedules(const MapRequest& request, const Machine& machine,
                                           const CharacterizeOptions& options) {
  if (const Status timed = sim::check_timing(machine); !timed) return fail_at(Stage::plan, timed.error());
  report::ScheduleMap map = empty_map(request, machine);
  if (const Status shapes = check_shapes(map, request, machine); !shapes) return fail_at(Stage::plan, shapes.error());
  std::vector<std::optional<OverlapReport>> reports(map.cells.size());
  std::vector<std::optional<Failure>> failures(map.cells.size());
  const auto work = [&](std::size_t i) {
    const OverlapProblem problem{
        .relation = map.product_first ? Relation::collective_needs_gemm : Relation::gemm_needs_collective,
        .gemms = {shape_of(map.cells[i], request)},
        .collectives = {{.collective = request.collective}},
        .ranks = map.ranks};
    auto report = study_overlap(problem, machine);
    if (report) {
      report->chosen.reset();  // its program may be large
      reports[i] = *std::move(report);
    } else if (report.error().stage != Stage::plan) {
      failures[i] = report.error();
    }
  };
  if (const auto done = do_all(map.cells.size(), options, work); !done) return fail(done.error());
  for (const auto& failure : failures) {
    if (failure) return fail(*failure);
  }
  fill_map(reports, map);
  return map;
}

}  // namespace cortado::pipeline
