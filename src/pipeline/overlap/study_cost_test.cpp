#include "pipeline/overlap/study_cost.hpp"

#include <gtest/gtest.h>

#include "cortado/report.hpp"
#include "cortado/study.hpp"

namespace cortado::pipeline {
namespace study_cost_test {

OverlapProblem dependent(Relation relation, Collective collective, const GemmShape& gemm) {
  return {.relation = relation, .gemms = {gemm}, .collectives = {{.collective = collective}}};
}

TEST(StudyCost, TakesAsLongAsWithoutWhatRowsHave) {
  const Machine machine = load_machine("mi300x-8").value();
  const DependentRequest request{.gemm = {4096, 3584, 2048}, .collective = "all-gather"};
  const StudyCost cost(machine, TimeOptions{});
  const SimulatedCost plain(machine);
  for (const std::uint32_t chunks : {2U, 8U}) {
    const FiccoSchedule schedule{.grain = Grain::chunks, .chunks = chunks};
    const auto time = cost.exact(request, schedule);
    ASSERT_TRUE(time);
    EXPECT_EQ(*time, plain.exact(request, schedule).value());
    const Program program = plan_ficco(request, schedule, machine).value().program;
    const auto times = cost.times_of(program);
    ASSERT_TRUE(times);
    EXPECT_EQ(times->time, *time);
    EXPECT_GT(times->gemm.value, 0);
  }
  EXPECT_FALSE(cost.times_of(plan_ficco(request, {.grain = Grain::whole}, machine).value().program));
}

// Where a run is watched, nothing is shared between searches and rows.
TEST(StudyCost, RowsAreTheSameIfTheyAreSimulatedAgain) {
  const Machine machine = load_machine("mi300x-8").value();
  OverlapOptions again;
  again.run.sim.progress = [](std::uint64_t, std::uint64_t) {};
  for (const OverlapProblem& problem :
       {dependent(Relation::gemm_needs_collective, "all-gather", {4096, 3584, 2048}),
        dependent(Relation::collective_needs_gemm, "reduce-scatter", {2048, 2048, 4096})}) {
    const auto shared = study_overlap(problem, machine);
    const auto alone = study_overlap(problem, machine, again);
    ASSERT_TRUE(shared && alone);
    EXPECT_EQ(report::to_json(overlap_document(*shared)), report::to_json(overlap_document(*alone)));
  }
}

}  // namespace study_cost_test
}  // namespace cortado::pipeline
