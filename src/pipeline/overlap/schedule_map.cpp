#include <optional>

#include "cortado/program.hpp"

#include "pipeline/overlap/characterize_parts.hpp"
#include "pipeline/overlap/times.hpp"
#include "plan/choose_schedule.hpp"
#include "sim/gpu/simulate.hpp"

namespace cortado::pipeline {
namespace {

/// C3 of a dependent problem: two halves, the collective on compute units.
constexpr FiccoSchedule kTwoHalves{
    .grain = Grain::chunks, .uniform = true, .fused = true, .chunks = 2, .means = CollectiveMeans::cores};

std::vector<FiccoSchedule> mapped_schedules(const MapRequest& request, const Machine& machine) {
  std::vector<FiccoSchedule> schedules = usual_schedules();
  const DependentRequest any{.collective = request.collective, .dependence = request.dependence};
  for (const FiccoScheduleInfo& info : list_tile_schedules()) {
    for (const std::uint32_t chunks : tile_chunks(info.schedule.grain, any, machine)) {
      schedules.push_back(info.schedule);
      schedules.back().chunks = chunks;
    }
  }
  if (machine.timing && machine.timing->cores.collective_units > 0) schedules.push_back(kTwoHalves);
  return schedules;
}

std::string map_name(const FiccoSchedule& schedule) {
  if (schedule == kTwoHalves) return "c3";
  return has_tiles(schedule.grain) ? full_name(schedule) : name_of(schedule);
}

char letter_of(const FiccoSchedule& schedule) {
  if (schedule == kTwoHalves) return '3';
  if (has_tiles(schedule.grain)) return schedule.grain == Grain::waves ? 'W' : 'T';
  if (schedule.grain != Grain::chunks) return schedule.grain == Grain::whole ? 'S' : 'P';
  if (schedule.shape == CommShape::panels_2d) return 'C';  // columns
  if (schedule.uniform) return 'U';
  return schedule.fused ? 'H' : 'N';
}

/// Everything but the times.
report::ScheduleMap empty_map(const MapRequest& request, const std::vector<FiccoSchedule>& schedules,
                              const Machine& machine) {
  report::ScheduleMap map;
  map.collective = request.collective.name();
  map.product_first = request.dependence == Dependence::product_first;
  map.dtype = std::string(to_string(request.dtype));
  map.n = request.n;
  map.ranks = request.ranks == 0 ? machine.gpus : request.ranks;
  map.machine = machine.name;
  for (const FiccoSchedule& schedule : schedules) {
    map.schedules.push_back(map_name(schedule));
    map.letters += letter_of(schedule);
  }
  map.m = request.m;
  map.k = request.k;
  for (const std::uint64_t m : map.m) {
    for (const std::uint64_t k : map.k) {
      map.cells.push_back({m, k, std::vector<std::optional<Nanoseconds>>(schedules.size()),
                           std::vector<std::optional<EnergyUse>>(schedules.size())});
    }
  }
  return map;
}

Outcome<OverlapTimes> time_of(const DependentRequest& request, const FiccoSchedule& schedule, const Machine& machine) {
  auto plan = plan_ficco(request, schedule, machine);
  if (!plan) return fail_at(Stage::plan, plan.error());
  return time_program(*simulator(), std::move(plan->program), machine, {.by_command = false});
}

/// What one GPU multiplies.
GemmShape shape_of(const report::MapCell& cell, const MapRequest& request) {
  return {cell.m, request.n, cell.k, request.dtype};
}

/// That a GEMM is too large says nothing of the others.
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

}  // namespace

Outcome<report::ScheduleMap> map_schedules(const MapRequest& request, const Machine& machine,
                                           const CharacterizeOptions& options) {
  if (const Status timed = sim::check_timing(machine); !timed) return fail_at(Stage::plan, timed.error());
  const std::vector<FiccoSchedule> schedules = mapped_schedules(request, machine);
  report::ScheduleMap map = empty_map(request, schedules, machine);
  if (const Status shapes = check_shapes(map, request, machine); !shapes) return fail_at(Stage::plan, shapes.error());
  std::vector<std::optional<Failure>> failures(map.cells.size());
  const auto work = [&](std::size_t i) {
    report::MapCell& cell = map.cells[i];
    DependentRequest one{.gemm = shape_of(cell, request),
                         .collective = request.collective,
                         .dependence = request.dependence,
                         .ranks = map.ranks};
    if (one.collective == "all-to-all") one.gemm.m *= map.ranks;  // rows of all ranks
    for (std::size_t s = 0; s < schedules.size() && !failures[i]; ++s) {
      const auto times = time_of(one, schedules[s], machine);
      if (times) {
        cell.times[s] = times->time;
        cell.energies[s] = times->energy;
      } else if (times.error().stage != Stage::plan) {
        failures[i] = times.error();
      }
    }
  };
  if (const auto done = do_all(map.cells.size(), options, work); !done) return tl::unexpected(done.error());
  for (const auto& failure : failures) {
    if (failure) return tl::unexpected(*failure);
  }
  return map;
}

}  // namespace cortado::pipeline
