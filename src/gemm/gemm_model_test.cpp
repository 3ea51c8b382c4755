// What a workgroup takes, and a product of them. All on mi300x-8: 304 compute units on 8 dies; products of bf16 at
// 2048 x 1.207 GHz x 0.942 a unit; 4 MiB of L2 a die, 256 MiB of last-level cache.
#include <gtest/gtest.h>

#include "cortado/gemm/gemm.hpp"

#include "gemm/testing.hpp"

namespace cortado {
namespace gemm_model_test {

constexpr double kKiB = 1024;

GemmEstimate estimate(const GemmShape& shape, const Tiling& tiling, std::uint32_t units) {
  return estimate_gemm(shape, tiling, mi300x(), units);
}

// --- Waves -----------------------------------------------------------------------------------------------------------

// 32 x 112 tiles of 256 x 256 are 3584 workgroups: 11.8 times 304, 13.2 times 272, 14.9 times 240 units. Products set
// the time of a tile, so that waves cost the same whether they are full or not: 14 / 12 and 15 / 12.
TEST(GemmWaves, FewerUnitsCostWholeWaves) {
  const GemmShape shape{.m = 8192, .n = 28672, .k = 8192, .dtype = DType::bf16};
  const Tiling tiling{256, 256, 1};
  EXPECT_EQ(workgroups(shape, tiling), 3584U);
  const GemmEstimate all = estimate(shape, tiling, kUnits);
  const GemmEstimate less_32 = estimate(shape, tiling, kUnits - 32);
  const GemmEstimate less_64 = estimate(shape, tiling, kUnits - 64);
  EXPECT_EQ(all.waves, 12U);
  EXPECT_EQ(less_32.waves, 14U);
  EXPECT_EQ(less_64.waves, 15U);
  EXPECT_NEAR(less_32.seconds / all.seconds, 14.0 / 12, 1e-9);
  EXPECT_NEAR(less_64.seconds / all.seconds, 15.0 / 12, 1e-9);
  // One wave: 2 x 256 x 256 x 8192 over 2048 x 1.207e9 x 0.942 a second, and 2 us beside.
  EXPECT_NEAR(all.seconds, 12 * (2.0 * 256 * 256 * 8192 / (2048 * 1.207e9 * 0.942) + 2e-6), 1e-9);
}

TEST(GemmWaves, OneWorkgroupMoreThanUnitsIsOneMoreWave) {
  const Tiling tiling{256, 256, 1};
  const GemmShape full{.m = 256, .n = 256 * 304, .k = 8192, .dtype = DType::bf16};
  GemmShape one_more = full;
  one_more.n += 1;
  EXPECT_EQ(estimate(full, tiling, kUnits).waves, 1U);
  EXPECT_EQ(estimate(one_more, tiling, kUnits).waves, 2U);
  EXPECT_NEAR(estimate(one_more, tiling, kUnits).seconds / estimate(full, tiling, kUnits).seconds, 2, 1e-9);
}

TEST(GemmWaves, TilesAtTheEdgeCostAsWholeOnes) {
  const Tiling tiling{256, 256, 1};
  const GemmShape whole{.m = 512, .n = 512, .k = 8192, .dtype = DType::bf16};
  const GemmShape edge{.m = 257, .n = 511, .k = 8192, .dtype = DType::bf16};
  EXPECT_EQ(workgroups(edge, tiling), 4U);
  EXPECT_DOUBLE_EQ(estimate(edge, tiling, kUnits).seconds, estimate(whole, tiling, kUnits).seconds);
}

// Four workgroups share the k of a tile: each has a quarter of the products. Sums in f32 go out and come back, and a
// quarter of the result each: 65536 x (8 + 2 / 4) bytes.
TEST(GemmWaves, SplitsAreWorkgroupsOfTheirOwn) {
  const GemmShape shape{.m = 1024, .n = 1024, .k = 32768, .dtype = DType::bf16};
  EXPECT_EQ(workgroups(shape, {256, 256, 4}), 64U);
  const GemmModel whole(shape, {256, 256, 1}, mi300x());
  const GemmModel split(shape, {256, 256, 4}, mi300x());
  EXPECT_EQ(split.workgroups(), 64U);
  constexpr double kOverhead = 2e-6;
  EXPECT_NEAR((whole.demand(8).seconds - kOverhead) / (split.demand(8).seconds - kOverhead), 4, 1e-9);
  // One workgroup a die reads 512 rows: of 8192 elements of k each.
  EXPECT_DOUBLE_EQ(split.demand(8).cache_bytes, 512.0 * 8192 * 2 + 65536 * 8.5);
}

TEST(GemmWaves, SmallerTilesCostMoreForEachMultiplication) {
  // 12 multiply-adds for a row or column: (1 + 24 / 128) against (1 + 24 / 256), for a quarter of the products.
  const GemmShape shape{.m = 2048, .n = 2048, .k = 8192, .dtype = DType::bf16};
  const double large = GemmModel(shape, {256, 256, 1}, mi300x()).demand(8).seconds - 2e-6;
  const double small = GemmModel(shape, {128, 128, 1}, mi300x()).demand(8).seconds - 2e-6;
  EXPECT_NEAR(small / large, (1 + 24.0 / 128) / (1 + 24.0 / 256) / 4, 1e-9);
}

// --- Operands --------------------------------------------------------------------------------------------------------

// 4 x 8 tiles of 256 x 256, all at once: 4 on each of 8 dies, a block of 2 x 2 tiles that needs 512 rows of A and 512
// columns of B of 2 KiB each: 2 MiB, 512 KiB a workgroup. With the tile of C, 128 KiB. The memory gives A and B once,
// 6 MiB over 32 workgroups.
TEST(GemmOperands, ADieReadsABlockOfTilesOnce) {
  const GemmShape shape{.m = 1024, .n = 2048, .k = 1024, .dtype = DType::bf16};
  const WorkgroupDemand demand = GemmModel(shape, {256, 256, 1}, mi300x()).demand(32);
  EXPECT_DOUBLE_EQ(demand.cache_bytes, (512 + 128) * kKiB);
  EXPECT_DOUBLE_EQ(demand.memory_bytes, (192 + 128) * kKiB);
}

// Tiles of 256 x 128, two a die: side by side along n they need 256 rows and 256 columns, along m 512 and 128.
TEST(GemmOperands, BlocksAreAsSquareAsTilesAllow) {
  const GemmShape shape{.m = 1024, .n = 1024, .k = 1024, .dtype = DType::bf16};
  const WorkgroupDemand demand = GemmModel(shape, {256, 128, 1}, mi300x()).demand(16);
  EXPECT_DOUBLE_EQ(demand.cache_bytes, 512 * 2 * kKiB / 2 + 256 * 128 * 2);
}

TEST(GemmOperands, AnAddedResultIsReadAsWell) {
  GemmShape shape{.m = 1024, .n = 2048, .k = 1024, .dtype = DType::bf16};
  const double plain = GemmModel(shape, {256, 256, 1}, mi300x()).demand(32).memory_bytes;
  shape.accumulate = true;
  EXPECT_DOUBLE_EQ(GemmModel(shape, {256, 256, 1}, mi300x()).demand(32).memory_bytes, plain + 128 * kKiB);
}

// 16384^3: operands of 1.5 GiB, of which the cache holds a sixth. 256 of 4096 workgroups at once are 16 x 16 tiles,
// 8192 rows of 32 KiB over 256: 1 MiB each, where A and B once are 256 KiB each. So 256 + 768 x 5/6 + 128 KiB.
TEST(GemmOperands, TheLastLevelCacheHoldsItsShareOfWhatIsReadAgain) {
  const GemmShape shape{.m = 16384, .n = 16384, .k = 16384, .dtype = DType::bf16};
  const GemmModel model(shape, {256, 256, 1}, mi300x());
  EXPECT_NEAR(model.demand(256).memory_bytes, (256 + 768 * 5.0 / 6 + 128) * kKiB, 1e-6);
  // Others hold half of it, or all.
  EXPECT_NEAR(model.demand(256, {.cache_held = 128_MiB}).memory_bytes, (256 + 768 * 11.0 / 12 + 128) * kKiB, 1e-6);
  EXPECT_NEAR(model.demand(256, {.cache_held = 256_MiB}).memory_bytes, (256 + 768 + 128) * kKiB, 1e-6);
  EXPECT_NEAR(model.demand(256, {.cache_held = 999_MiB}).memory_bytes, (256 + 768 + 128) * kKiB, 1e-6);
}

TEST(GemmOperands, WhatFitsTheLastLevelCacheIsReadOnce) {
  // 3 x 32 MiB; 256 workgroups fit the units at once, and on 37 units a wave needs operands that others had before.
  const GemmShape shape{.m = 4096, .n = 4096, .k = 4096, .dtype = DType::bf16};
  for (const std::uint32_t units : {256U, 100U, 37U, 1U}) {
    EXPECT_NEAR(estimate(shape, {256, 256, 1}, units).memory_bytes, 96.0 * 1024 * kKiB, 1) << units;
  }
}

// Each window is 113,000 bytes of 4 MiB: 37 fit, 38 are 1.02377 of it, and at a quarter more everything is read twice.
TEST(GemmOperands, OneWindowTooManyInL2IsReadAgain) {
  const GemmShape shape{.m = 16384, .n = 16384, .k = 16384, .dtype = DType::bf16};
  const GemmModel model(shape, {256, 256, 1}, mi300x());
  const GemmModel ample(shape, {256, 256, 1}, mi300x(), L2Windows::ample);
  const double result = 128 * kKiB;
  const double again = 1 + (38 * 113000.0 / 4194304 - 1) / 0.25;
  EXPECT_NEAR(again, 1.0951, 1e-4);
  const auto expect_again = [&](std::uint64_t running, const GemmSurroundings& beside, double times) {
    const WorkgroupDemand found = model.demand(running, beside);
    const WorkgroupDemand once = ample.demand(running, beside);
    EXPECT_NEAR((found.memory_bytes - result) / (once.memory_bytes - result), times, 1e-9);
    EXPECT_NEAR((found.cache_bytes - result) / (once.cache_bytes - result), times, 1e-9);
  };
  expect_again(38 * 8, {}, again);
  expect_again(37 * 8, {}, 1);
  expect_again(37 * 8, {.streams = 8}, again);  // workgroups of others have windows, too
  expect_again(8, {.streams = 8 * 99}, 2);
}

TEST(GemmOperands, MemoryTrafficIsNeverLessThanEveryOperandOnce) {
  for (const std::uint64_t m : {1U, 100U, 1000U, 20000U}) {
    for (const std::uint64_t k : {64U, 5000U, 16384U}) {
      const GemmShape shape{.m = m, .n = 3000, .k = k, .dtype = DType::f16};
      for (const std::uint32_t units : {1U, 30U, 304U}) {
        EXPECT_GE(estimate(shape, {128, 64, 1}, units).memory_bytes * (1 + 1e-9),
                  static_cast<double>(operand_bytes(shape).value));
      }
    }
  }
}

// --- Rates -----------------------------------------------------------------------------------------------------------

/// FLOP/s of 16384^3 with the tile that a library would take.
double achieved(DType dtype) {
  const GemmShape shape{.m = 16384, .n = 16384, .k = 16384, .dtype = dtype};
  return flops(shape) / estimate(shape, choose_tiling(shape, mi300x(), kUnits), kUnits).seconds;
}

// Published max-achievable: 708, 654 and 1273 TFLOP/s. 4096 tiles of 256 x 256 leave 4 % of the 14th wave idle, and 2
// us a tile go beside the products (0.2 % of bf16, 0.4 % of f8): a little below it is right.
TEST(GemmRates, LargeProductsReachNearlyWhatIsPublishedAsAchievable) {
  EXPECT_GE(achieved(DType::bf16), 0.48 * 1307.4e12);
  EXPECT_LE(achieved(DType::bf16), 0.54 * 1307.4e12);
  for (const auto& [dtype, published] :
       {std::pair(DType::bf16, 708e12), std::pair(DType::f16, 654e12), std::pair(DType::f8, 1273e12)}) {
    EXPECT_GE(achieved(dtype), 0.94 * published);
    EXPECT_LE(achieved(dtype), published);
  }
}

TEST(GemmRates, SmallerElementsAreFaster) {
  EXPECT_GT(achieved(DType::f8), 1.5 * achieved(DType::bf16));
  EXPECT_GT(achieved(DType::bf16), 4 * achieved(DType::f32));
}

TEST(GemmRates, AFewRowsTakeTheTimeOfTheWeights) {
  // 64 x 57344 x 8192: 940 MB of weights at 4.1 TB/s are 229 us; its products would take 85 us.
  const GemmShape shape{.m = 64, .n = 57344, .k = 8192, .dtype = DType::bf16};
  EXPECT_TRUE(is_memory_bound(shape, mi300x()));
  const double bytes = static_cast<double>(operand_bytes(shape).value);
  const double seconds = estimate(shape, choose_tiling(shape, mi300x(), kUnits), kUnits).seconds;
  EXPECT_GE(seconds, bytes / 4.1e12);
  EXPECT_LE(seconds, 1.2 * bytes / 4.1e12);
  EXPECT_FALSE(is_memory_bound({.m = 8192, .n = 8192, .k = 8192, .dtype = DType::bf16}, mi300x()));
}

// --- Results past the caches -----------------------------------------------------------------------------------------

// A tile of 256 x 256 bf16 is 128 KiB. What fits the last-level cache beside C fits it without C.
TEST(GemmModelStreamed, LeavesTheTileOfCOut) {
  const GemmShape shape{.m = 8192, .n = 8192, .k = 1024, .dtype = DType::bf16};
  const GemmModel cached(shape, {256, 256, 1}, mi300x());
  const GemmModel streamed(shape, {256, 256, 1}, mi300x(), L2Windows::modelled, ResultPath::streamed);
  const WorkgroupDemand with = cached.demand(304);
  const WorkgroupDemand without = streamed.demand(304);
  EXPECT_DOUBLE_EQ(with.memory_writes, 128 * kKiB);
  EXPECT_EQ(without.memory_writes, 0);
  EXPECT_NEAR(with.cache_bytes - without.cache_bytes, 128 * kKiB, 1e-3);
  EXPECT_NEAR(with.memory_bytes - without.memory_bytes, 128 * kKiB, 1e-3);
}

}  // namespace gemm_model_test
}  // namespace cortado
