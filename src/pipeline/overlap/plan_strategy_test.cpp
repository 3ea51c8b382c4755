#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cortado/machine.hpp"
#include "cortado/study.hpp"
#include "cortado/target.hpp"

namespace cortado::pipeline {
namespace plan_strategy_test {

OverlapProblem problem_of(Relation relation) {
  OverlapProblem problem{.relation = relation,
                         .gemms = {{.m = 512, .n = 512, .k = 512}},
                         .collectives = {{.collective = "all-gather"}},
                         .ranks = 4};
  if (relation == Relation::collective_needs_gemm) problem.collectives.front().collective = "reduce-scatter";
  if (relation == Relation::independent) {
    problem.collectives.front().bytes = 1_MiB;
    problem.collectives.front().in_place = true;
  }
  return problem;
}

std::string code_of(const OverlapProblem& problem, const std::string& strategy) {
  const auto planned = plan_strategy(problem, load_machine("mi300x-8").value(), strategy);
  return planned ? "" : planned.error().errors.front().code;
}

TEST(PlanStrategy, EveryStrategyThatAppliesIsAProgramThatCanBeProved) {
  const Machine machine = load_machine("mi300x-8+t3").value();
  std::size_t proved = 0;
  for (const Relation relation :
       {Relation::independent, Relation::gemm_needs_collective, Relation::collective_needs_gemm}) {
    const OverlapProblem problem = problem_of(relation);
    for (const Strategy& strategy : strategies()) {
      const bool serial = strategy.name == "serial" || strategy.name == "serial-direct";
      const bool two_programs = serial && relation != Relation::independent;
      if (!strategy.plan || two_programs || !strategy.applies(problem, machine)) continue;
      const auto planned = plan_strategy(problem, machine, strategy.name);
      ASSERT_TRUE(planned) << strategy.name << ": " << to_string(planned.error().errors.front());
      EXPECT_TRUE(prove(planned->program, machine)) << strategy.name;
      ++proved;
    }
  }
  EXPECT_GE(proved, 30U);  // 8 next to an independent collective, 11 of FiCCO in each direction, 2 of T3
}

// Rows that are not even are in the contract of every program, or the strategy says that it cannot have them.
TEST(PlanStrategy, TokensAreObeyedOrRefused) {
  const Machine machine = load_machine("mi300x-8+t3").value();
  std::size_t obeyed = 0;
  std::vector<std::string> refused;
  for (const Relation relation : {Relation::gemm_needs_collective, Relation::collective_needs_gemm}) {
    OverlapProblem even{.relation = relation,
                        .gemms = {{.m = 512, .n = 512, .k = 512}},
                        .collectives = {{.collective = "all-to-all"}},
                        .ranks = 4};
    OverlapProblem uneven = even;
    uneven.tokens = TokenTable(4, {300, 100, 64, 48});
    for (const Strategy& strategy : strategies()) {
      const bool two_programs = strategy.name == "serial" || strategy.name == "serial-direct";
      if (!strategy.plan || two_programs || !strategy.applies(even, machine)) continue;
      const auto with = plan_strategy(uneven, machine, strategy.name);
      if (!with) {
        EXPECT_EQ(with.error().errors.front().code, "t3.tokens") << strategy.name;
        refused.push_back(strategy.name);
        continue;
      }
      const auto without = plan_strategy(even, machine, strategy.name);
      ASSERT_TRUE(without) << strategy.name;
      EXPECT_NE(with->program.contract, without->program.contract) << strategy.name;
      EXPECT_NE(with->program.buffers, without->program.buffers) << strategy.name;
      EXPECT_TRUE(prove(with->program, machine)) << strategy.name;
      ++obeyed;
    }
  }
  EXPECT_GE(obeyed, 20U);
  EXPECT_EQ(refused, (std::vector<std::string>{"t3", "t3-mca"}));
}

TEST(PlanStrategy, AutoIsNamedByWhatItIs) {
  const auto planned = plan_strategy(problem_of(Relation::independent), load_machine("mi300x-8").value(), "auto");
  ASSERT_TRUE(planned);
  EXPECT_THAT(planned->name, testing::Not(testing::StartsWith("auto")));
  EXPECT_FALSE(planned->program.queues.empty());
}

// Tiles are searched as well as schedules of FiCCO: here they win.
TEST(PlanStrategy, AutoIsWhatTheStudyChooses) {
  const Machine machine = load_machine("mi300x-8").value();
  OverlapProblem problem = problem_of(Relation::collective_needs_gemm);
  problem.gemms = {{.m = 16384, .n = 8192, .k = 3584}};
  problem.ranks = 8;
  const auto planned = plan_strategy(problem, machine, "auto");
  const auto study = study_overlap(problem, machine);
  ASSERT_TRUE(planned && study);
  EXPECT_EQ(planned->name, study->choice);
  EXPECT_THAT(planned->name, testing::StartsWith("tiles-rs"));
}

// serial is faster than shards on a mesh, but it is two programs.
TEST(PlanStrategy, AChoiceCanBeLimitedToOneProgram) {
  const Machine machine = load_machine("mi300x-8").value();
  OverlapProblem problem = problem_of(Relation::gemm_needs_collective);
  problem.gemms = {{.m = 16384, .n = 3584, .k = 8192}};
  const std::vector<std::string> strategies{"serial", "shard-p2p"};
  const auto any = study_overlap(problem, machine, {.strategies = strategies});
  const auto one = study_overlap(problem, machine, {.strategies = strategies, .one_program = true});
  ASSERT_TRUE(any && one);
  EXPECT_EQ(any->choice, "serial");
  EXPECT_EQ(any->chosen, nullptr);
  EXPECT_EQ(one->choice, "shard-p2p");
  ASSERT_NE(one->chosen, nullptr);
  EXPECT_EQ(one->chosen->name, "shard-p2p");
}

TEST(PlanStrategy, KnobsReachTheStrategy) {
  const Machine machine = load_machine("mi300x-8+t3").value();
  const OverlapProblem problem = problem_of(Relation::collective_needs_gemm);
  const auto rows = plan_strategy(problem, machine, "t3", {.algorithm = "ring", .axis = "rows"});
  const auto columns = plan_strategy(problem, machine, "t3", {.algorithm = "ring", .axis = "columns"});
  ASSERT_TRUE(rows && columns);
  EXPECT_THAT(rows->how, testing::AllOf(testing::HasSubstr("ring"), testing::HasSubstr("of rows")));
  EXPECT_THAT(columns->how, testing::AllOf(testing::HasSubstr("ring"), testing::HasSubstr("of columns")));
  const auto back_to_back = plan_strategy(problem_of(Relation::gemm_needs_collective), machine, "serial-dma",
                                          {.exchange = ExchangeVariant::b2b});
  const auto plain = plan_strategy(problem_of(Relation::gemm_needs_collective), machine, "serial-dma");
  ASSERT_TRUE(back_to_back && plain);
  EXPECT_LT(back_to_back->program.queues.size(), plain->program.queues.size());
}

TEST(PlanStrategy, RefusesWhatIsNotOneProgram) {
  EXPECT_EQ(code_of(problem_of(Relation::gemm_needs_collective), "serial"), "overlap.program");
  EXPECT_EQ(code_of(problem_of(Relation::gemm_needs_collective), "ideal"), "overlap.program");
  OverlapProblem reduced = problem_of(Relation::collective_needs_gemm);
  reduced.collectives.front().collective = "all-reduce";
  EXPECT_EQ(code_of(reduced, "hetero-fused-1d"), "overlap.program");
}

TEST(PlanStrategy, RefusesStrategiesThatDoNotApply) {
  EXPECT_EQ(code_of(problem_of(Relation::gemm_needs_collective), "conccl"), "overlap.relation");
  EXPECT_EQ(code_of(problem_of(Relation::collective_needs_gemm), "t3"), "t3.feature");
  EXPECT_EQ(code_of(problem_of(Relation::independent), "conkkl"), "overlap.strategy");
}

}  // namespace plan_strategy_test
}  // namespace cortado::pipeline
