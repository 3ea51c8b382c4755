// Names of schedules, and what is rejected.
#include "plan/ficco/request.hpp"

#include <set>

#include <gmock/gmock.h>

#include "plan/ficco/testing.hpp"

namespace cortado::plan {
namespace ficco_request_test {

using testing::ElementsAre;
using testing::HasSubstr;

Diagnostic refused(const DependentRequest& request, const FiccoSchedule& schedule, const Machine& machine) {
  const Result<FiccoPlan> plan = plan_ficco(request, schedule, machine);
  EXPECT_FALSE(plan);
  return plan ? Diagnostic{} : plan.error();
}

TEST(FiccoSchedules, AllCombinationsHaveNames) {
  std::set<std::string> names;
  std::vector<std::string> published;
  for (const FiccoScheduleInfo& info : list_schedules()) {
    names.insert(info.name);
    if (info.published) published.push_back(info.name);
    EXPECT_EQ(name_of(info.schedule), info.name);
    EXPECT_EQ(*find_schedule(info.name), info.schedule);
  }
  EXPECT_EQ(names.size(), 10U);
  EXPECT_THAT(published, ElementsAre("uniform-fused-1d", "hetero-fused-1d", "hetero-unfused-1d", "uniform-fused-2d"));
}

TEST(FiccoSchedules, UnknownNames) {
  const auto near = find_schedule("hetero-fused1d");
  ASSERT_FALSE(near);
  EXPECT_EQ(near.error().code, "ficco.schedule");
  EXPECT_THAT(near.error().hint, HasSubstr("did you mean hetero-fused-1d?"));
  const auto ideal = find_schedule("ideal");
  ASSERT_FALSE(ideal);
  EXPECT_THAT(ideal.error().message, HasSubstr("bound"));
}

TEST(FiccoSchedules, NamesWithChunks) {
  FiccoSchedule expected = *find_schedule("uniform-fused-2d");
  expected.chunks = 12;
  EXPECT_EQ(*find_schedule("uniform-fused-2d/12"), expected);
  for (const char* wrong : {"hetero-fused-1d/", "hetero-fused-1d/0", "hetero-fused-1d/4x", "hetero-fused-1d/-4",
                            "hetero-fused-1d/99999999999", "serial/2", "shard-p2p/2", "hetero-fused/4"}) {
    const auto refused = find_schedule(wrong);
    ASSERT_FALSE(refused) << wrong;
    EXPECT_EQ(refused.error().code, "ficco.schedule") << wrong;
  }
}

TEST(FiccoSchedules, ExchangesHaveNames) {
  for (const char* name : {"auto", "pcpy", "bcst", "b2b"}) EXPECT_EQ(name_of(*find_exchange(name)), name);
  EXPECT_EQ(*find_exchange("auto"), FiccoSchedule{}.exchange);
  const auto swap = find_exchange("swap");
  ASSERT_FALSE(swap);
  EXPECT_EQ(swap.error().code, "ficco.exchange");
  EXPECT_THAT(swap.error().hint, HasSubstr("known: auto, pcpy, bcst, b2b"));
}

class FiccoRefusals : public testing::Test {
 protected:
  std::string code(const DependentRequest& request, std::string_view schedule = "hetero-fused-1d",
                   std::uint32_t chunks = 0) {
    return refused(request, schedule_for_test(schedule, chunks), machine_).code;
  }

  const Machine machine_ = machine_for_test("mi300x-8");
};

TEST_F(FiccoRefusals, Requests) {
  const GemmShape shape{256, 64, 128};
  EXPECT_EQ(code({.gemm = shape, .ranks = 1}), "ficco.ranks");
  EXPECT_EQ(code({.gemm = shape, .ranks = 9}), "ficco.ranks");
  EXPECT_EQ(code({.gemm = shape, .collective = "all-reduce"}), "ficco.collective");
  EXPECT_EQ(code({.gemm = {256, 64, 128, DType::bf16, true}}), "ficco.accumulate");
  EXPECT_EQ(code({.gemm = {0, 64, 128}}), "gemm.shape");
  EXPECT_EQ(code({.gemm = {256, 64, 128, DType::i32}}), "gemm.dtype");
  EXPECT_EQ(code({.gemm = shape, .ranks = 2, .tokens = {{64, 64}, {64, 64}}}), "ficco.tokens");
  EXPECT_EQ(code({.gemm = shape, .collective = "all-to-all", .ranks = 2, .tokens = {{64, 64}, {64, 63}}}),
            "ficco.tokens");
  EXPECT_EQ(code({.gemm = shape, .collective = "all-to-all", .ranks = 2, .tokens = {{64, 64}, {128}}}), "ficco.tokens");
}

TEST_F(FiccoRefusals, MoreChunksThanThereIsToCut) {
  const DependentRequest request{.gemm = {40, 8, 24}, .ranks = 4};  // 10 rows of a rank; rows of 48 bytes
  EXPECT_EQ(code(request, "hetero-fused-1d", 11), "ficco.chunks");
  EXPECT_TRUE(plan_ficco(request, schedule_for_test("hetero-fused-1d", 10), machine_));
  EXPECT_EQ(code(request, "uniform-fused-2d", 4), "ficco.chunks");
  EXPECT_TRUE(plan_ficco(request, schedule_for_test("uniform-fused-2d", 3), machine_));
}

// As many as ranks, fewer for more than eight ranks, and never more than the matrix can be cut into.
TEST_F(FiccoRefusals, ChunksThatNobodyGave) {
  EXPECT_EQ(default_chunks(3), 3U);
  EXPECT_EQ(default_chunks(8), 8U);
  EXPECT_EQ(default_chunks(16), 4U);
  EXPECT_EQ(default_chunks(72), 2U);
  const auto steps = [&](std::uint64_t rows, std::uint64_t depth, std::string_view schedule) {
    const DependentRequest request{.gemm = {rows, 8, depth}, .ranks = 4};
    return check_dependent(request, schedule_for_test(schedule), machine_)->schedule.chunks;
  };
  EXPECT_EQ(steps(40, 64, "hetero-fused-1d"), 4U);
  EXPECT_EQ(steps(12, 64, "hetero-fused-1d"), 3U);   // 3 rows of a rank
  EXPECT_EQ(steps(40, 24, "uniform-fused-2d"), 3U);  // columns are cut at multiples of 8
  EXPECT_EQ(code({.gemm = {4, 8, 64}, .ranks = 4}), "ficco.chunks");
}

TEST_F(FiccoRefusals, PanelsThatNoStridedCopyCanBring) {
  // Rows of 2 x 33 bytes; offsets and pitches of strided copies are multiples of 4.
  const DependentRequest request{.gemm = {64, 8, 33}, .ranks = 2};
  const Diagnostic refusal = refused(request, schedule_for_test("uniform-fused-2d"), machine_);
  EXPECT_EQ(refusal.code, "ficco.panels");
  EXPECT_THAT(refusal.message, HasSubstr("66 bytes"));
  EXPECT_TRUE(plan_ficco(request, schedule_for_test("uniform-fused-1d"), machine_));
}

TEST_F(FiccoRefusals, ExchangesThatEnginesCannotMake) {
  const DependentRequest gathered{.gemm = {256, 64, 128}};
  const DependentRequest exchanged{.gemm = {640, 64, 128}, .collective = "all-to-all"};
  FiccoSchedule rows = schedule_for_test("uniform-fused-1d");
  FiccoSchedule panels = schedule_for_test("uniform-fused-2d");
  rows.exchange = panels.exchange = ExchangeVariant::bcst;
  EXPECT_TRUE(plan_ficco(gathered, rows, machine_));
  EXPECT_THAT(refused(exchanged, rows, machine_).message, HasSubstr("all-to-all does not"));
  EXPECT_THAT(refused(gathered, panels, machine_).message, HasSubstr("gaps"));
  EXPECT_EQ(refused(gathered, rows, machine_for_test("h100-8")).code, "ficco.exchange");
  rows.exchange = ExchangeVariant::b2b;
  rows.means = CollectiveMeans::cores;
  EXPECT_EQ(refused(gathered, rows, machine_).code, "ficco.exchange");
}

TEST_F(FiccoRefusals, RowsTooFarApartForAStridedCopy) {
  // Rows of 4 x 2^19 + 4 bytes count in elements of 4 bytes, of which a pitch holds 2^19.
  const DependentRequest request{.gemm = {8, 1, (1UL << 19) + 1, DType::f32}, .ranks = 2};
  EXPECT_EQ(code(request, "uniform-fused-2d"), "plan.window");
}

TEST_F(FiccoRefusals, WhatDoesNotFitTheMemory) {
  // A has 2^33 bytes and more than the GPU when it is gathered, but a shard and its stagings fit.
  Machine small = machine_;
  small.memory_bytes = 4_GiB;
  const DependentRequest request{.gemm = {65536, 1024, 65536}};
  const Diagnostic refusal = refused(request, schedule_for_test("serial-dma"), small);
  EXPECT_EQ(refusal.code, "ficco.memory");
  // A 8 GiB, b and c 128 MiB each.
  EXPECT_THAT(refusal.message, HasSubstr("8448MiB"));
  EXPECT_TRUE(plan_ficco(request, schedule_for_test("hetero-fused-1d"), small));
}

TEST_F(FiccoRefusals, MachinesWithoutLinksOrProducts) {
  Machine apart = machine_;
  apart.linked[0][1] = false;
  EXPECT_EQ(refused({.gemm = {256, 64, 128}}, schedule_for_test("hetero-fused-1d"), apart).code, "plan.link");
  EXPECT_TRUE(plan_ficco({.gemm = {256, 64, 128}}, schedule_for_test("serial-dma"), apart));  // through a third GPU
  Machine untimed = machine_;
  untimed.timing.reset();
  EXPECT_EQ(refused({.gemm = {256, 64, 128}}, schedule_for_test("serial-dma"), untimed).code, "gemm.compute");
}

}  // namespace ficco_request_test
}  // namespace cortado::plan
