#include <thread>

#include <gtest/gtest.h>

#include "cortado/target.hpp"

#include "pipeline/choose.hpp"

namespace cortado::pipeline {
namespace schedule_chooser_test {

DependentRequest request(std::uint64_t rows) {
  DependentRequest request;
  request.gemm = {.m = rows, .n = 512, .k = 1024};
  request.ranks = 2;
  return request;
}

// The example of choose.hpp.
TEST(ChooseSchedule, GivesFrameworksAScheduleThatCanBePlanned) {
  const Machine machine = load_machine("mi300x-8").value();
  Chooser chooser(machine, {});
  const DependentRequest asked{.gemm = {.m = 16384, .n = 3584, .k = 8192}, .collective = "all-gather"};
  const auto choice = chooser.schedule(asked);
  ASSERT_TRUE(choice);
  const auto plan = plan_ficco(asked, choice->schedule, machine);
  ASSERT_TRUE(plan);
  EXPECT_TRUE(verify(plan->program, machine));
  const auto again = chooser.schedule(asked);
  EXPECT_EQ(again->schedule, choice->schedule);
  EXPECT_EQ(again->time, choice->time);
}

TEST(ChooseSchedule, RefusesWhatIsNotPlanned) {
  const Machine machine = load_machine("mi300x-8").value();
  Chooser chooser(machine, {});
  const auto unknown = chooser.schedule({.gemm = {.m = 1024, .n = 512, .k = 512}, .collective = "all-reduce"});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, "ficco.collective");
  DependentRequest huge = request(1 << 26);
  huge.gemm.n = 1 << 16;  // C alone is 8 TiB
  EXPECT_FALSE(chooser.schedule(huge));
}

// 3 rows on 2 ranks: no rank gives another one more than 2, so that only panels can have more chunks.
TEST(ChooseSchedule, PassesOverWhatCannotBeCutSoOften) {
  const Machine machine = load_machine("mi300x-8").value();
  const auto choice = Chooser(machine, {}).schedule(request(3));
  ASSERT_TRUE(choice);
  ASSERT_FALSE(choice->refused.empty());
  for (const RefusedSchedule& refused : choice->refused) {
    EXPECT_EQ(refused.reason.code, "ficco.chunks");
    EXPECT_EQ(refused.schedule.shape, CommShape::rows_1d);
  }
}

TEST(ChooseSchedule, ForgetsWhenItIsFull) {
  const Machine machine = load_machine("mi300x-8").value();
  Chooser chooser(machine, {.most_schedules = 2});
  const Nanoseconds first = chooser.schedule(request(256))->time;
  for (const std::uint64_t rows : {512U, 1024U, 256U}) ASSERT_TRUE(chooser.schedule(request(rows)));
  EXPECT_EQ(chooser.schedule(request(256))->time, first);
}

TEST(ChooseSchedule, ThreadsGetTheSameChoices) {
  const Machine machine = load_machine("mi300x-8").value();
  Chooser alone(machine, {});
  const FiccoSchedule expected[] = {alone.schedule(request(512))->schedule, alone.schedule(request(4096))->schedule};
  Chooser chooser(machine, {});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      EXPECT_EQ(chooser.schedule(request(512))->schedule, expected[0]);
      EXPECT_EQ(chooser.schedule(request(4096))->schedule, expected[1]);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace schedule_chooser_test
}  // namespace cortado::pipeline
