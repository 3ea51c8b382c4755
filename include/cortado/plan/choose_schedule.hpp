// Choosing how a product and the collective that it depends on are cut: one after the other, whole shards, or one of
// the schedules of FiCCO with some number of chunks. A ScheduleCost says how long each takes, the fastest wins.
//
// A search looks at every candidate roughly and simulates few:
//
//   1. rough time of all: the least that it can take, and what it likely takes
//   2. in the order of likely times: simulate those that are likely within kSearchMargin of the likely best, and that
//      can still win (the least that they can take is below the best simulated time)
//
// A candidate that is left out by its least time cannot be the best; one that is left out by its likely time is not as
// long as the rough model errs by less than the margin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "cortado/base/result.hpp"
#include "cortado/base/units.hpp"
#include "cortado/plan/ficco.hpp"

namespace cortado {

/// What a schedule takes, without a program.
struct RoughTime {
  Nanoseconds least;   ///< not above the simulated time
  Nanoseconds likely;  ///< contention included
};

/// How long schedules take. Calls from several threads at a time are allowed.
class ScheduleCost {
 public:
  ScheduleCost() = default;
  ScheduleCost(const ScheduleCost&) = delete;
  ScheduleCost& operator=(const ScheduleCost&) = delete;
  virtual ~ScheduleCost() = default;

  /// Cheap. May let pass what cannot be planned.
  virtual Result<RoughTime> rough(const DependentRequest& request, const FiccoSchedule& schedule) const = 0;
  /// The predicted time, or why it cannot be planned (plan_ficco).
  virtual Result<Nanoseconds> time(const DependentRequest& request, const FiccoSchedule& schedule) const = 0;
};

/// serial first, shard-p2p, then all schedules of list_schedules() with every number of chunks that is searched: a
/// quarter, half, once, twice and four times the ranks, at least two. All move bytes with DMA engines. Whether they can
/// be planned is not known yet.
std::vector<FiccoSchedule> schedule_candidates(const DependentRequest& request, const Machine& machine);

/// Beyond the likely best by so much, a candidate is not simulated: a share of its time.
inline constexpr double kSearchMargin = 0.05;

enum class ChosenBy {
  heuristic,  ///< from shapes alone, nothing simulated
  search,
};

struct RefusedSchedule {
  FiccoSchedule schedule;
  Diagnostic reason;
};

struct ScheduleTime {
  FiccoSchedule schedule;
  Nanoseconds time;
};

/// Of how many candidates what became.
struct SearchWork {
  std::size_t candidates = 0;
  std::size_t pruned = 0;    ///< cannot be the best
  std::size_t unlikely = 0;  ///< not likely to be
  std::size_t simulated = 0;
};

struct ScheduleChoice {
  FiccoSchedule schedule;
  ChosenBy by = ChosenBy::search;
  std::optional<Nanoseconds> time{};        ///< predicted; none: chosen from shapes alone
  std::optional<ScheduleTime> runner_up{};  ///< second best of those simulated
  SearchWork work{};
  std::vector<RefusedSchedule> refused{};

  /// By how much of the chosen one's time the runner-up is slower; none without a runner-up.
  std::optional<double> margin() const;
};

/// Refuses what no candidate can do, with the reason of serial.
Result<ScheduleChoice> search_schedules(const DependentRequest& request, const Machine& machine,
                                        const ScheduleCost& cost);

/// What callers ask for that leave the schedule open: by search.
Result<ScheduleChoice> auto_schedule(const DependentRequest& request, const Machine& machine, const ScheduleCost& cost);

}  // namespace cortado
