#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/heuristic/heuristic.hpp"

namespace cortado::plan {
namespace schedule_heuristic_test {

Machine machine(const std::string& name = "mi300x-8") {
  Result<Machine> loaded = load_machine(name);
  EXPECT_TRUE(loaded) << to_string(loaded.error());
  return *std::move(loaded);
}

DependentRequest request(GemmShape gemm, Collective collective = "all-gather",
                         Dependence dependence = Dependence::collective_first) {
  return {.gemm = gemm, .collective = collective, .dependence = dependence};
}

double feature(const DependentRequest& request, ScheduleFeature feature) {
  const auto features = schedule_features(request, machine());
  EXPECT_TRUE(features) << to_string(features.error());
  return (*features)[static_cast<std::size_t>(feature)];
}

std::string guess(const DependentRequest& request, const Machine& on) {
  const auto guessed = guess_schedule(request, on);
  return guessed ? name_of(guessed->schedule) : guessed.error().code;
}

// Of an all-to-all, a rank multiplies an eighth of the rows, and sends as many for each row.
TEST(ScheduleFeatures, RowsOfAnAllToAllAreThoseOfOneRank) {
  const DependentRequest gathered = request({16384, 4096, 8192, DType::bf16});
  const DependentRequest exchanged = request({8 * 16384, 4096, 8192, DType::bf16}, "all-to-all");
  EXPECT_EQ(*schedule_features(gathered, machine()), *schedule_features(exchanged, machine()));
}

TEST(ScheduleFeatures, WhatCannotBeCutTakesForever) {
  const DependentRequest odd = request({16384, 4096, 8191, DType::bf16});  // panels of rows of 16382 bytes
  EXPECT_EQ(feature(odd, ScheduleFeature::panels_over_serial), std::numeric_limits<double>::infinity());
  EXPECT_LT(feature(odd, ScheduleFeature::fused_over_serial), 2);
  const DependentRequest flat = request({56, 4096, 8192, DType::bf16});  // 7 rows of a rank
  EXPECT_EQ(feature(flat, ScheduleFeature::fused_over_serial), std::numeric_limits<double>::infinity());
  EXPECT_EQ(feature(flat, ScheduleFeature::unfused_over_serial), std::numeric_limits<double>::infinity());
}

TEST(ScheduleFeatures, WhatIsRefused) {
  const auto code = [](const DependentRequest& asked, const Machine& on) {
    const auto features = schedule_features(asked, on);
    return features ? "accepted" : features.error().code;
  };
  DependentRequest alone = request({1024, 1024, 1024});
  alone.ranks = 1;
  EXPECT_EQ(code(alone, machine()), "ficco.ranks");
  EXPECT_EQ(code(request({1024, 0, 1024}), machine()), "gemm.shape");
  EXPECT_EQ(code(request({1024, 1024, 1024, DType::i32}), machine()), "gemm.dtype");
  EXPECT_EQ(code(request({1024, 1024, 1024}), machine("mi308x-8")), "gemm.compute");
}

TEST(ScheduleTree, EveryNodeIsReachedOnceAndTestsLeadOn) {
  const auto tree = schedule_tree();
  std::vector<int> reached(tree.size());
  reached[0] = 1;
  for (std::size_t i = 0; i < tree.size(); ++i) {
    if (tree[i].leaf) {
      EXPECT_LT(tree[i].choice, guessed_schedules().size());
      continue;
    }
    for (const std::uint32_t next : {tree[i].below, tree[i].above}) {
      ASSERT_GT(next, i);
      ASSERT_LT(next, tree.size());
      ++reached[next];
    }
  }
  EXPECT_THAT(reached, testing::Each(1));
}

TEST(ScheduleTree, AGuessIsTheLeafOfItsFeatures) {
  const DependentRequest asked = request({16384, 4096, 8192, DType::bf16});
  const ScheduleTreeNode& leaf = leaf_of(schedule_tree(), *schedule_features(asked, machine()));
  const auto guessed = guess_schedule(asked, machine());
  ASSERT_TRUE(guessed);
  EXPECT_EQ(guessed->schedule, guessed_schedules()[leaf.choice]);
  EXPECT_EQ(guessed->confidence, leaf.share);
  EXPECT_EQ(guessed->mean_loss, leaf.loss);
}

TEST(GuessSchedule, ChoosesAmongSerialAndThePublishedOnes) {
  std::vector<FiccoSchedule> published;
  for (const FiccoScheduleInfo& info : list_schedules()) {
    if (info.published || info.schedule.grain == Grain::whole) published.push_back(info.schedule);
  }
  EXPECT_THAT(guessed_schedules(), testing::ElementsAreArray(published));
}

// What is too small to cut, what has panels as long as the GEMM is deep, and what has rows enough for every piece.
TEST(GuessSchedule, ClearCases) {
  const Machine on = machine();
  EXPECT_EQ(guess(request({63, 4097, 8191}), on), "serial-dma");
  EXPECT_EQ(guess(request({2048, 1024, 1024}), on), "serial-dma");
  EXPECT_EQ(guess(request({2560, 2176, 29120}), on), "uniform-fused-2d");
  EXPECT_EQ(guess(request({1048576, 7168, 4096}), on), "hetero-unfused-1d");
}

}  // namespace schedule_heuristic_test
}  // namespace cortado::plan
