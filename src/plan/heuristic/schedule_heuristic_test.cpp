#include "cortado/plan/schedule_heuristic.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cortado {
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

// 16384 x 4096 x 8192 in bf16: 1.0995e12 operations; A, B and C are 268.4 + 67.1 + 134.2 = 469.8 MB. A compute unit
// does 2048 x 1.207 GHz x 0.942 = 2.3286e12 operations a second, 304 of them 707.9e12; the memory brings 4.1e12 bytes.
TEST(ScheduleFeatures, FollowFromTheShape) {
  const DependentRequest asked = request({16384, 4096, 8192, DType::bf16});
  EXPECT_NEAR(feature(asked, ScheduleFeature::intensity), (1.0995e12 / 469.8e6) / (707.9 / 4.1), 0.02);
  EXPECT_NEAR(feature(asked, ScheduleFeature::traffic), 469.8e6 / 4.1e12 / 3e-6, 0.05);
  EXPECT_DOUBLE_EQ(feature(asked, ScheduleFeature::m_over_k), 2);
  EXPECT_EQ(feature(asked, ScheduleFeature::product_first), 0);
}

// 19 x 16 tiles of 256 x 256 are one wave of 304. A tile takes 2 x 65536 x 8192 / 2.3286e12 = 461.1 us and 2 us, and a
// kernel starts in 3 us. A shard of 608 rows, 9.961 MB, takes 220.4 us at 45.2 GB/s, and always fetch 1.857,
// start 1.691, sync 2.116, latency 0.5 and seven submissions of 0.642: 10.7 us.
TEST(ScheduleFeatures, CollectiveOverProduct) {
  const double product = 461.1 + 2 + 3;
  const double collective = 220.4 + 10.7;
  EXPECT_NEAR(feature(request({4864, 4096, 8192, DType::bf16}), ScheduleFeature::communication), collective / product,
              0.001);
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

TEST(ScheduleTree, APathEndsInTheLeafOfTheGuess) {
  const DependentRequest asked = request({16384, 4096, 8192, DType::bf16});
  const auto path = schedule_path(*schedule_features(asked, machine()));
  const auto guessed = guess_schedule(asked, machine());
  ASSERT_TRUE(guessed);
  EXPECT_EQ(path.front(), 0U);
  EXPECT_EQ(path.back(), guessed->leaf);
  const ScheduleTreeNode& leaf = schedule_tree()[guessed->leaf];
  EXPECT_TRUE(leaf.leaf);
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

// What is too small to cut, what has panels as long as the product is deep, and what has rows enough for every piece.
TEST(GuessSchedule, ClearCases) {
  const Machine on = machine();
  EXPECT_EQ(guess(request({63, 4097, 8191}), on), "serial");
  EXPECT_EQ(guess(request({2048, 1024, 1024}), on), "serial");
  EXPECT_EQ(guess(request({49152, 1920, 5120}), on), "uniform-fused-2d");
  EXPECT_EQ(guess(request({1048576, 7168, 4096}), on), "hetero-unfused-1d");
}

}  // namespace schedule_heuristic_test
}  // namespace cortado
