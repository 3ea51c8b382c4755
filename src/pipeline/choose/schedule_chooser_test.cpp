#include <thread>

#include <gtest/gtest.h>

#include "cortado/pipeline/choose_schedule.hpp"
#include "cortado/verify/verify.hpp"

namespace cortado::pipeline {
namespace schedule_chooser_test {

DependentRequest request(std::uint64_t rows) {
  DependentRequest request;
  request.gemm = {.m = rows, .n = 512, .k = 1024};
  request.ranks = 2;
  return request;
}

// The example of choose_schedule.hpp.
TEST(ChooseSchedule, GivesFrameworksAScheduleThatCanBePlanned) {
  const Machine machine = load_machine("mi300x-8").value();
  const GemmShape gemm{.m = 16384, .n = 3584, .k = 8192};
  const auto schedule = choose(gemm, "all-gather", machine);
  ASSERT_TRUE(schedule);
  DependentRequest dependent;
  dependent.gemm = gemm;
  dependent.collective = "all-gather";
  const auto plan = plan_ficco(dependent, *schedule, machine);
  ASSERT_TRUE(plan);
  EXPECT_TRUE(verify(plan->program, machine));
  EXPECT_EQ(choose(gemm, "all-gather", machine), schedule);
}

TEST(ChooseSchedule, KnowsWhichCollectivesComeAfterTheProduct) {
  const Machine machine = load_machine("mi300x-8").value();
  EXPECT_TRUE(choose({.m = 1024, .n = 512, .k = 512}, "reduce-scatter", machine));
  EXPECT_TRUE(choose({.m = 1024, .n = 512, .k = 512}, "all-to-all", machine));
  const auto unknown = choose({.m = 1024, .n = 512, .k = 512}, "all-reduce", machine);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, "ficco.collective");
}

// 3 rows on 2 ranks: no rank gives another one more than 2, so that only panels can have more chunks.
TEST(ScheduleChooser, PassesOverWhatCannotBeCutSoOften) {
  const Machine machine = load_machine("mi300x-8").value();
  ScheduleChooser chooser;
  const auto choice = chooser.choose(request(3), machine);
  ASSERT_TRUE(choice);
  ASSERT_FALSE(choice->refused.empty());
  for (const RefusedSchedule& refused : choice->refused) {
    EXPECT_EQ(refused.reason.code, "ficco.chunks");
    EXPECT_EQ(refused.schedule.shape, CommShape::rows_1d);
  }
}

TEST(ScheduleChooser, FailsWhereNothingFits) {
  const Machine machine = load_machine("mi300x-8").value();
  ScheduleChooser chooser;
  DependentRequest huge = request(1 << 26);
  huge.gemm.n = 1 << 16;  // C alone is 8 TiB
  const auto choice = chooser.choose(huge, machine);
  ASSERT_FALSE(choice);
  EXPECT_EQ(chooser.kept(), 0U);
}

TEST(ScheduleChooser, RemembersByContentOfMachineAndRequest) {
  Machine machine = load_machine("mi300x-8").value();
  ScheduleChooser chooser;
  const auto first = chooser.choose(request(1024), machine);
  ASSERT_TRUE(first);
  EXPECT_EQ(chooser.kept(), 1U);
  const auto again = chooser.choose(request(1024), machine);
  EXPECT_EQ(chooser.kept(), 1U);
  EXPECT_EQ(again->schedule, first->schedule);
  EXPECT_EQ(again->time, first->time);

  machine.provenance.front().source = "somewhere else";  // where a value comes from does not matter
  ASSERT_TRUE(chooser.choose(request(1024), machine));
  EXPECT_EQ(chooser.kept(), 1U);
  machine.provenance.back().value += "1";
  ASSERT_TRUE(chooser.choose(request(1024), machine));
  EXPECT_EQ(chooser.kept(), 2U);
  ASSERT_TRUE(chooser.choose(request(2048), machine));
  EXPECT_EQ(chooser.kept(), 3U);
}

TEST(ScheduleChooser, TellsAllThatARequestSaysApart) {
  const Machine machine = load_machine("mi300x-8").value();
  ScheduleChooser chooser;
  std::size_t kept = 0;
  DependentRequest tokens = request(100);
  tokens.collective = "all-to-all";
  tokens.tokens = {{10, 40}, {40, 10}};
  DependentRequest others = tokens;
  others.tokens = {{40, 10}, {10, 40}};
  DependentRequest typed = request(100);
  typed.gemm.dtype = DType::f8;
  DependentRequest after = tokens;
  after.dependence = Dependence::product_first;
  DependentRequest ranks = request(100);
  ranks.ranks = 3;
  for (const DependentRequest& each : {request(100), tokens, others, typed, after, ranks}) {
    ASSERT_TRUE(chooser.choose(each, machine));
    EXPECT_EQ(chooser.kept(), ++kept);
  }
  DependentRequest all = request(100);
  all.ranks = 0;
  DependentRequest eight = all;
  eight.ranks = 8;
  ASSERT_TRUE(chooser.choose(all, machine));
  ASSERT_TRUE(chooser.choose(eight, machine));
  EXPECT_EQ(chooser.kept(), kept + 1);  // 0 ranks are all ranks
}

TEST(ScheduleChooser, ForgetsWhenItIsFull) {
  const Machine machine = load_machine("mi300x-8").value();
  ScheduleChooser chooser(2);
  for (const std::uint64_t rows : {256U, 512U, 1024U}) ASSERT_TRUE(chooser.choose(request(rows), machine));
  EXPECT_EQ(chooser.kept(), 1U);
}

TEST(ScheduleChooser, ThreadsGetTheSameChoices) {
  const Machine machine = load_machine("mi300x-8").value();
  ScheduleChooser alone;
  const FiccoSchedule expected[] = {alone.choose(request(512), machine)->schedule,
                                    alone.choose(request(4096), machine)->schedule};
  ScheduleChooser chooser;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      EXPECT_EQ(chooser.choose(request(512), machine)->schedule, expected[0]);
      EXPECT_EQ(chooser.choose(request(4096), machine)->schedule, expected[1]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(chooser.kept(), 2U);
}

}  // namespace schedule_chooser_test
}  // namespace cortado::pipeline
