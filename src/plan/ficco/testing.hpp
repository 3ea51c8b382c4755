// Helpers of the tests of finer-grain overlap.
#pragma once

#include "plan/collective/testing.hpp"
#include "plan/ficco.hpp"

namespace cortado::plan {

inline FiccoSchedule schedule_for_test(std::string_view name, std::uint32_t chunks = 0) {
  Result<FiccoSchedule> schedule = find_schedule(name);
  EXPECT_TRUE(schedule) << to_string(schedule.error());
  if (!schedule) return {};
  schedule->chunks = chunks;
  return *schedule;
}

/// All ways to carry the pieces of a schedule of a request: with every available variant of engines, and with cores.
inline std::vector<FiccoSchedule> means_for_test(const DependentRequest& request, const FiccoSchedule& schedule,
                                                 const Machine& machine) {
  std::vector<FiccoSchedule> all;
  for (const ExchangeVariant exchange : {ExchangeVariant::automatic, ExchangeVariant::pcpy, ExchangeVariant::b2b}) {
    all.push_back(schedule);
    all.back().exchange = exchange;
  }
  all.push_back(schedule);
  all.back().means = CollectiveMeans::cores;
  const bool panels = schedule.grain == Grain::chunks && schedule.shape == CommShape::panels_2d;
  if (request.collective == "all-gather" && !panels && machine.features.broadcast) {
    all.push_back(schedule);
    all.back().exchange = ExchangeVariant::bcst;
  }
  return all;
}

inline FiccoPlan ficco_for_test(const DependentRequest& request, const FiccoSchedule& schedule,
                                const Machine& machine) {
  Result<FiccoPlan> plan = plan_ficco(request, schedule, machine);
  EXPECT_TRUE(plan) << name_of(schedule) << ": " << to_string(plan.error());
  return plan ? *std::move(plan) : FiccoPlan{};
}

}  // namespace cortado::plan
