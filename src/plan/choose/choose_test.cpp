#include "plan/choose.hpp"

#include <algorithm>
#include <cstddef>
#include <map>

#include <gtest/gtest.h>

namespace cortado {
namespace choose_test {

/// time = start-up of the way + bytes / rate of the way, in nanoseconds and bytes a nanosecond.
class LinearCost : public CostModel {
 public:
  struct Line {
    std::int64_t start;
    std::int64_t rate;
  };
  explicit LinearCost(std::map<std::string, Line> lines) : lines_(std::move(lines)) {}

  Result<Nanoseconds> collective(const CollectiveRequest& request) const override {
    const auto found = lines_.find(way_name(request));
    if (found == lines_.end()) return fail("plan.feature", request.variant + " is not there", "take another");
    return Nanoseconds{found->second.start + static_cast<std::int64_t>(request.bytes.value) / found->second.rate};
  }

 private:
  std::map<std::string, Line> lines_;
};

ChoiceRequest all_gather(Bytes bytes, bool prelaunch = false) {
  return {.base = {.collective = "all-gather", .bytes = bytes, .prelaunch = prelaunch}};
}

std::vector<std::string> names(const std::vector<TimedCandidate>& candidates) {
  std::vector<std::string> names;
  for (const TimedCandidate& candidate : candidates) names.push_back(way_name(candidate.request));
  return names;
}

TEST(Choose, CandidatesAreAllVariantsAndPrelaunchOnlyWhereAllowed) {
  const auto plain = list_candidates(all_gather(1_KiB));
  ASSERT_TRUE(plain);
  const auto variants = list_variants("all-gather");
  EXPECT_EQ(static_cast<std::ptrdiff_t>(plain->size()),
            std::ranges::count(variants, false, &VariantInfo::of_library));  // the library's choice represents those
  for (const CollectiveRequest& candidate : *plain) EXPECT_FALSE(candidate.prelaunch);

  ChoiceRequest ahead = all_gather(1_KiB, true);
  ahead.base.trigger_words = TriggerWords::per_queue;
  ahead.among = {"b2b"};
  const auto both = list_candidates(ahead);
  ASSERT_TRUE(both);
  ASSERT_EQ(both->size(), 2U);
  EXPECT_EQ(way_name(both->at(0)), "b2b");
  EXPECT_EQ(both->at(0).trigger_words, TriggerWords::shared);  // nothing is triggered there
  EXPECT_EQ(way_name(both->at(1)), "b2b prelaunch");
  EXPECT_EQ(both->at(1).trigger_words, TriggerWords::per_queue);
}

TEST(Choose, KindsOfVariantsCanBeAskedFor) {
  ChoiceRequest request = all_gather(1_KiB, true);
  request.base.compute_units = 16;
  request.among = {"cores"};
  const auto cores = list_candidates(request);
  ASSERT_TRUE(cores) << to_string(cores.error());
  for (const CollectiveRequest& candidate : *cores) {
    EXPECT_TRUE(candidate.variant.starts_with("cores-") || candidate.variant == kLibraryVariant);
    EXPECT_EQ(candidate.compute_units, 16U);
    EXPECT_FALSE(candidate.prelaunch);  // kernels hold their compute units while they wait
  }
  request.among = {"dma"};
  const auto dma = list_candidates(request);
  ASSERT_TRUE(dma);
  EXPECT_EQ(dma->size(), 2U * 5);  // pcpy, bcst, mcast, b2b, ring
  for (const CollectiveRequest& candidate : *dma) EXPECT_EQ(candidate.compute_units, 0U);
  request.base.collective = "scatter";
  request.among = {"cores"};
  EXPECT_EQ(list_candidates(request).error().code, "plan.auto");
}

TEST(Choose, PlaceIsTheVariantsOwnUnlessTheCallerSays) {
  ChoiceRequest request{.base = {.collective = "all-to-all", .bytes = 1_KiB}, .among = {"pcpy", "swap"}};
  const auto open = list_candidates(request);
  ASSERT_TRUE(open);
  EXPECT_FALSE(open->at(0).in_place);
  EXPECT_TRUE(open->at(1).in_place);
  request.in_place = false;
  const auto fixed = list_candidates(request);
  ASSERT_TRUE(fixed);
  EXPECT_FALSE(fixed->at(1).in_place);  // which swap cannot do: the planner will refuse it
}

TEST(Choose, TheFastestWinsAndTheRestFollows) {
  const LinearCost cost({{"pcpy", {100, 2}}, {"bcst", {60, 1}}});
  const auto row = choose(all_gather(60_B), cost);  // 100 + 30 and 60 + 60
  ASSERT_TRUE(row) << to_string(row.error());
  EXPECT_EQ(names(row->fitting), (std::vector<std::string>{"bcst", "pcpy"}));
  EXPECT_EQ(row->best().time.value, 120);
  EXPECT_FALSE(row->refused.empty());
  EXPECT_EQ(row->refused.front().reason.code, "plan.feature");
}

TEST(Choose, OfEquallyFastOnesThePlainerWins) {
  const LinearCost cost({{"pcpy", {50, 1}}, {"pcpy prelaunch", {50, 1}}, {"bcst", {50, 1}}});
  const auto row = choose(all_gather(60_B, true), cost);
  ASSERT_TRUE(row) << to_string(row.error());
  EXPECT_EQ(names(row->fitting), (std::vector<std::string>{"pcpy", "pcpy prelaunch", "bcst"}));
}

TEST(Choose, NothingThatFitsIsAnErrorWithAllReasons) {
  const auto many = choose(all_gather(1_KiB), LinearCost({}));
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().code, "plan.auto");
  EXPECT_NE(many.error().message.find("pcpy: pcpy is not there; bcst: bcst is not there"), std::string::npos);
  ChoiceRequest one = all_gather(1_KiB, true);
  one.among = {"bcst"};
  const auto same = choose(one, LinearCost({}));
  ASSERT_FALSE(same);
  EXPECT_EQ(same.error().code, "plan.feature");
}

TEST(Choose, UnknownNamesAreNamed) {
  const LinearCost cost({{"pcpy", {50, 1}}});
  ChoiceRequest request = all_gather(1_KiB);
  request.among = {"pcpy", "b3b"};
  EXPECT_EQ(choose(request, cost).error().code, "plan.unknown_variant");
}

/// b2b: 10 + B / 1; bcst: 50 + B / 2; pcpy: 100 + B / 4. b2b = bcst at 80 B, bcst = pcpy at 200 B.
TEST(Choose, ATableSaysWhereTheChoiceChanges) {
  const LinearCost cost({{"b2b", {10, 1}}, {"bcst", {50, 2}}, {"pcpy", {100, 4}}});
  ChoiceTable table;
  for (const Bytes size : {32_B, 64_B, 128_B, 256_B, 512_B}) table.push_back(choose(all_gather(size), cost).value());
  const auto bcst = choose(all_gather(128_B), cost);
  ASSERT_TRUE(bcst);
  EXPECT_EQ(way_name(bcst->best().request), "bcst");
  const ChoiceChanges around = changes_around(table, 128_B, bcst->best().request);
  ASSERT_NE(around.below, nullptr);
  ASSERT_NE(around.above, nullptr);
  EXPECT_EQ(around.below->bytes, 64_B);
  EXPECT_EQ(way_name(around.below->best().request), "b2b");
  EXPECT_EQ(around.above->bytes, 256_B);
  EXPECT_EQ(way_name(around.above->best().request), "pcpy");
  const auto b2b = choose(all_gather(40_B), cost);
  EXPECT_EQ(changes_around(table, 40_B, b2b->best().request).below, nullptr);
  EXPECT_EQ(changes_around(table, 40_B, b2b->best().request).above->bytes, 128_B);
}

}  // namespace choose_test
}  // namespace cortado
