// Choosing how a GEMM and the collective that it depends on are cut: one after the other, whole shards, or one of
// the schedules of FiCCO with some number of chunks. A CostModel says how long each takes, the fastest wins.
//
// A search asks for three times of a candidate, each dearer than the one before, and of ever fewer candidates:
//
//   1. the least that it can take, of all
//   2. what it likely takes, of those whose least time is not kSearchMargin above the likely best
//   3. the simulated time, the likeliest first, of those that can still beat the best: whose likely time, less what it
//      may err by, is below. Until kSearchSteps steps have been simulated
//
// A likely time is the least one and the contention. It may err by a share of the contention and a little, at most by
// the margin. So the fastest is found unless a likely time errs by more, or many candidates are that near to
// each other. If the likely best takes longer when simulated, those that it ruled out are looked at again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "cortado/result.hpp"

#include "plan/cost.hpp"

namespace cortado {

/// Of which a search chooses.
enum class ScheduleFamily {
  ficco,  ///< serial, shard-p2p and the schedules of FiCCO
  tiles,  ///< tiles, waves, and serial by kernels that copy
  all,
};

/// serial first, shard-p2p, then all schedules of list_schedules() with every number of chunks that is searched: a
/// quarter, half, once, twice and four times the ranks, at least two; then tiles and, behind a GEMM, waves with
/// tile_chunks. Tiles copy with DMA engines or with compute units or, behind a GEMM, store to peers; all others move
/// bytes with DMA engines. Last, serial by kernels that copy, which a search looks at for short GEMMs only. Whether
/// they can be planned is not known yet.
std::vector<FiccoSchedule> schedule_candidates(const DependentRequest& request, const Machine& machine,
                                               ScheduleFamily family = ScheduleFamily::all);

/// Numbers of chunks of tiles, or of waves, that are searched.
std::vector<std::uint32_t> tile_chunks(Grain grain, const DependentRequest& request, const Machine& machine);

/// What a search trusts likely times to: at most this share of them,
inline constexpr double kSearchMargin = 0.05;
/// this share of the contention in them, and this share of them.
inline constexpr double kContentionMargin = 0.3;
inline constexpr double kLeastMargin = 0.002;
/// Of uneven rows: models of one GPU know neither that other ranks send less nor that they are done earlier.
inline constexpr double kUnevenMargin = 0.25;

/// So many steps of schedules are simulated, those of unfused ones counted twice, and at least one schedule. The time
/// that a search takes is about proportional to it.
inline constexpr std::uint32_t kSearchSteps = 80;
inline constexpr std::uint32_t kUnevenSteps = 240;  ///< of uneven rows, as more of them may be the fastest

enum class ChosenBy {
  heuristic,  ///< guess_schedule: from shapes alone, nothing simulated
  search,
};

std::string_view name_of(ChosenBy by);  ///< "heuristic", "search"

struct RefusedSchedule {
  FiccoSchedule schedule;
  Diagnostic reason;
};

struct ScheduleTime {
  FiccoSchedule schedule;
  Nanoseconds time;
};

/// Of how many candidates what was asked.
struct SearchWork {
  std::size_t candidates = 0;
  std::size_t pruned = 0;     ///< left out because of the least that they can take
  std::size_t estimated = 0;  ///< asked what they likely take
  std::size_t simulated = 0;
};

struct ScheduleChoice {
  FiccoSchedule schedule;
  ChosenBy by = ChosenBy::search;
  Nanoseconds time{};                       ///< simulated
  std::optional<ScheduleTime> runner_up{};  ///< second best of those simulated
  SearchWork work{};
  std::vector<RefusedSchedule> refused{};

  /// By how much of the chosen one's time the runner-up is slower; none without a runner-up.
  std::optional<double> margin() const;
};

/// Refuses what no candidate can do, with the reason of serial.
Result<ScheduleChoice> search_schedules(const DependentRequest& request, const Machine& machine, const CostModel& cost,
                                        ScheduleFamily family = ScheduleFamily::all);

/// A guess of serial (schedule_heuristic.hpp) whose rough time is so many times below that of all others is the fastest
/// of all candidates of FiCCO: searches confirmed all of them in the training set. Guesses of schedules that cut are
/// never that sure, as they leave the number of chunks open, nor those of serial where nothing else can be cut into as
/// many chunks as there are ranks.
inline constexpr double kSureMargin = 2;

/// What callers ask for that leave the schedule open: by search; among the schedules of FiCCO, the guess from shapes
/// where it is sure.
Result<ScheduleChoice> auto_schedule(const DependentRequest& request, const Machine& machine, const CostModel& cost,
                                     ScheduleFamily family = ScheduleFamily::all);

}  // namespace cortado
