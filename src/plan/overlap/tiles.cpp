// Tiles: the GEMM stays one kernel; its tiles wait for the chunks that a collective brings, or release chunks as they
// are written. What libraries with fused kernels do today.
#include "ir/tiles.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "plan/overlap/strategy.hpp"

namespace cortado::plan {
namespace {

struct TileStrategy {
  std::string name;
  Grain grain = Grain::tiles;
  std::vector<Collective> collectives;
  Relation relation = Relation::collective_needs_gemm;
};

Status applies_to(const TileStrategy& which, const OverlapProblem& problem, const Machine& machine) {
  CORTADO_RETURN_IF_ERROR(check_relation(problem, which.name, {which.relation}));
  const Collective collective = overlapping_part(problem).collective().collective;
  for (const Collective known : which.collectives) {
    if (known == collective) return can_exchange_pieces(problem, machine, which.name);
  }
  return fail("overlap.collective", fmt::format("{} does not work for {}", which.name, collective),
              "tiles-rs is for reduce-scatter and all-reduce, tiles-a2a for all-to-all after a GEMM");
}

/// Of the numbers of chunks that are searched the one that is predicted to be fastest; 0 where nothing can be
/// predicted.
std::uint32_t fastest_chunks(FiccoSchedule schedule, const OverlapQuestion& question) {
  const DependentRequest request = dependent_request(question.problem);
  std::uint32_t best = 0;
  std::optional<Nanoseconds> least;
  for (const std::uint32_t chunks : tile_chunks(schedule.grain, request, question.machine)) {
    schedule.chunks = chunks;
    const auto time = question.costs.model.likely(request, schedule);
    if (!time || (least && *time >= *least)) continue;
    least = *time;
    best = chunks;
  }
  return best;
}

/// A group has one wave or more.
Status check_waves(std::uint64_t groups, const Program& program, const Machine& machine) {
  const std::uint64_t waves = waves_of(program, machine);
  if (groups <= waves) return {};
  return fail(About::strategy, "overlap.strategy",
              fmt::format("waves/{}, but the GEMM has {} wave{} of tiles", groups, waves, waves == 1 ? "" : "s"),
              fmt::format("use at most waves/{}, or just waves", waves));
}

Strategy tile_strategy(const TileStrategy& which, Strategy texts) {
  texts.name = which.name;
  texts.family = "tiles";
  texts.applies = [which](const OverlapProblem& problem, const Machine& machine) {
    return applies_to(which, problem, machine);
  };
  texts.plan = [grain = which.grain](const OverlapQuestion& question) -> Result<PlannedOverlap> {
    FiccoSchedule schedule{.grain = grain, .chunks = question.knobs.chunks, .exchange = ExchangeVariant::pcpy};
    schedule.means = question.knobs.means;
    if (schedule.means == CollectiveMeans::cores) schedule.units = question.knobs.comm_cus.value_or(0);
    const bool asked = schedule.chunks > 0;
    if (!asked) schedule.chunks = fastest_chunks(schedule, question);
    auto planned = plan_schedule(schedule, question);
    if (planned && asked && grain == Grain::waves) {
      CORTADO_RETURN_IF_ERROR(check_waves(schedule.chunks, planned->program, question.machine));
    }
    return planned;
  };
  return texts;
}

}  // namespace

std::uint32_t waves_of(const Program& program, const Machine& machine) {
  std::uint64_t waves = 0;
  for (const Queue& queue : program.queues) {
    for (const Command& command : queue.commands) {
      const auto* gemm = std::get_if<Gemm>(&command);
      if (gemm == nullptr) continue;
      waves = std::max(waves, (tile_count(*gemm) + machine.compute_units - 1) / machine.compute_units);
    }
  }
  return static_cast<std::uint32_t>(waves);
}

std::string name_of_tiles(const FiccoSchedule& schedule, const OverlapProblem& problem) {
  std::string name = "tiles-ag";
  if (problem.relation == Relation::collective_needs_gemm) {
    name = overlapping_part(problem).collective().collective == "all-to-all" ? "tiles-a2a" : "tiles-rs";
  }
  if (schedule.grain == Grain::waves) name = "waves";
  if (schedule.chunks > 0) name += fmt::format("/{}", schedule.chunks);
  return name.append(suffix_of(schedule.means));
}

std::vector<Strategy> tiles_strategies() {
  return {
      tile_strategy({"tiles-ag", Grain::tiles, {"all-gather", "all-to-all"}, Relation::gemm_needs_collective},
                    {.summary = "one GEMM whose tiles wait for the chunks they multiply (Flux, kraken)",
                     .wins = "many rows: the GEMM stays whole, and a late chunk stalls only a few CUs",
                     .loses = "few rows: each chunk reads all of B again, and waves do not fill all CUs"}),
      tile_strategy({"tiles-rs", Grain::tiles, {"reduce-scatter"}},
                    {.summary = "one GEMM whose tiles release chunks, which are sent and added up (Flux)",
                     .wins = "GEMMs longer than the collective, with many tiles for each receiver",
                     .loses = "short GEMMs: the sum at the end is exposed; few rows: groups read all of B in turn"}),
      tile_strategy({"tiles-a2a", Grain::tiles, {"all-to-all"}},
                    {.summary = "one GEMM whose tiles release chunks, which are sent to their receivers",
                     .wins = "same as tiles-rs; nothing is added up",
                     .loses = "few rows for each receiver: partial tiles"}),
      tile_strategy({"waves", Grain::waves, {"reduce-scatter", "all-to-all"}},
                    {.summary = "like tiles-rs and tiles-a2a, but released by whole waves of tiles (FlashOverlap)",
                     .wins = "GEMMs of many waves: fewer signals and copies than tiles",
                     .loses = "GEMMs of few waves: nothing is released before the end"})};
}

}  // namespace cortado::plan
