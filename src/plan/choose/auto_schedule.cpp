#include <cmath>

#include "plan/choose_schedule.hpp"
#include "plan/schedule_heuristic.hpp"

namespace cortado {

Result<ScheduleChoice> auto_schedule(const DependentRequest& request, const Machine& machine, const CostModel& cost,
                                     ScheduleFamily family) {
  // The guess knows nothing of tiles, and was not trained on uneven rows.
  if (family != ScheduleFamily::ficco || !request.tokens.empty())
    return search_schedules(request, machine, cost, family);
  const auto guess = guess_schedule(request, machine);
  if (guess && guess->schedule.grain == Grain::whole && guess->margin >= kSureMargin && std::isfinite(guess->margin)) {
    // It may still not fit the memory.
    if (const auto time = cost.exact(request, guess->schedule)) {
      return ScheduleChoice{.schedule = guess->schedule, .by = ChosenBy::heuristic, .time = *time};
    }
  }
  return search_schedules(request, machine, cost, family);
}

std::string_view name_of(ChosenBy by) {
  return by == ChosenBy::heuristic ? "heuristic" : "search";
}

}  // namespace cortado
