// Stages by hand: tiles of 16 x 16 f16 with k = 16, so that a tile row of A, a tile column of B and a tile of C have
// 512 bytes each.
#include "gemm/stages.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "gemm/gemm.hpp"

namespace cortado {
namespace stages_test {

constexpr double kPanel = 16 * 16 * 2;

Machine machine_with(Bytes cache, std::uint32_t ways = 32) {
  Machine machine = load_machine("t3-ring-8").value();
  machine.timing->memory.cache_bytes = cache;
  machine.timing->compute->stages->cache_ways = ways;
  return machine;
}

Gemm tiles(std::uint64_t rows, std::uint64_t columns, std::uint64_t split_k = 1) {
  return gemm_command({.m = 16 * rows, .n = 16 * columns, .k = 16, .dtype = DType::f16}, {16, 16, split_k}, {}, {}, {});
}

OutputBlock block(std::uint64_t row, std::uint64_t column, std::uint64_t rows, std::uint64_t columns) {
  return {16 * row, 16 * column, 16 * rows, 16 * columns, {}, CopyOp::store};
}

// With one way the cache holds a line exactly if nothing fell into its set: Poisson gives exp(-D / cache). With two, at
// most one line may have: exp(-2x) (1 + 2x), x = D / cache.
TEST(CacheHits, ArePoisson) {
  EXPECT_DOUBLE_EQ(cache_hit_probability(0, {1000}, 1), 1);
  EXPECT_NEAR(cache_hit_probability(500, {1000}, 1), std::exp(-0.5), 1e-12);
  EXPECT_NEAR(cache_hit_probability(500, {1000}, 2), std::exp(-1.0) * 2, 1e-12);
  EXPECT_NEAR(cache_hit_probability(1e9, {1000}, 32), 0, 1e-12);
}

// Four stages of one row of two tiles each: every stage reads its row of A; B, two columns, only the first reads.
TEST(StageReads, WhatFitsIsReadOnce) {
  const StageReads reads(tiles(4, 2), machine_with(1_GiB), 2);
  ASSERT_EQ(reads.stages(), 4U);
  EXPECT_NEAR(reads.of_stage(0), 3 * kPanel, 1e-6);
  EXPECT_NEAR(reads.of_stage(1), kPanel, 1e-6);
  EXPECT_NEAR(reads.of_stage(3), kPanel, 1e-6);
  EXPECT_NEAR(reads.total(), 6 * kPanel, 1e-6);
}

TEST(StageReads, WhatDoesNotFitIsReadByEveryStage) {
  const StageReads reads(tiles(4, 2), machine_with({64}), 2);
  for (std::uint64_t stage = 0; stage < 4; ++stage) EXPECT_NEAR(reads.of_stage(stage), 3 * kPanel, 1e-6);
}

// Between two touches of B lie a row of A and B itself, 3 panels, and the two tiles of C, unless these go past the
// cache. A cache of 6 panels and one way: exp(-5/6) of B is found, or exp(-3/6).
TEST(StageReads, OutputTakesCacheUnlessItIsMapped) {
  const Machine machine = machine_with({6 * 512}, 1);
  Gemm gemm = tiles(4, 2);
  EXPECT_NEAR(StageReads(gemm, machine, 2).of_stage(1), kPanel * (1 + 2 * (1 - std::exp(-5.0 / 6))), 1e-6);
  gemm.outputs = {block(0, 0, 4, 2)};
  EXPECT_NEAR(StageReads(gemm, machine, 2).of_stage(1), kPanel * (1 + 2 * (1 - std::exp(-3.0 / 6))), 1e-6);
}

// The same 4 x 4 tiles, one stage of 4 at a time, with a cache that holds nothing: in rows a stage needs one row of A
// and four columns of B, in blocks of 2 x 2 two of each. With a cache that holds all, the order does not matter.
TEST(StageReads, OrderMatters) {
  Gemm gemm = tiles(4, 4);
  EXPECT_NEAR(StageReads(gemm, machine_with({64}), 4).total(), 4 * 5 * kPanel, 1e-6);
  gemm.outputs = {block(0, 0, 2, 2), block(2, 2, 2, 2), block(0, 2, 2, 2), block(2, 0, 2, 2)};
  EXPECT_NEAR(StageReads(gemm, machine_with({64}), 4).total(), 4 * 4 * kPanel, 1e-6);
  EXPECT_NEAR(StageReads(gemm, machine_with(1_GiB), 4).total(), 8 * kPanel, 1e-6);
}

// Blocks need not be cut at multiples of the tile: rows 0 to 23 are tiles of 16 and 8 rows, rows 24 to 31 one of 8. One
// column, one stage each; nothing of A is read twice, B is.
TEST(StageReads, BlocksBeginAnywhere) {
  Gemm gemm = tiles(2, 1);
  gemm.outputs = {{0, 0, 24, 16, {}, CopyOp::store}, {24, 0, 8, 16, {}, CopyOp::store}};
  const StageReads reads(gemm, machine_with({64}), 1);
  ASSERT_EQ(reads.stages(), 3U);
  EXPECT_NEAR(reads.of_stage(0), 2 * kPanel, 1e-6);
  EXPECT_NEAR(reads.of_stage(1), 1.5 * kPanel, 1e-6);
  EXPECT_NEAR(reads.of_stage(2), 1.5 * kPanel, 1e-6);
}

// Two workgroups share a tile: each reads half of the k of its row and column, half a panel of both.
TEST(StageReads, PartsOfKAreDifferentBytes) {
  const StageReads reads(tiles(1, 1, 2), machine_with(1_GiB), 1);
  ASSERT_EQ(reads.stages(), 2U);
  EXPECT_NEAR(reads.of_stage(0), kPanel, 1e-6);
  EXPECT_NEAR(reads.of_stage(1), kPanel, 1e-6);
}

// 3 panels in the first stage, one in the second: the last workgroup of the one and the first of the other read half
// of each. The last stage has only one workgroup, which reads its row of A.
TEST(StageReads, WorkgroupsOfAStageShareEvenly) {
  Gemm gemm = tiles(4, 2);
  const StageReads reads(gemm, machine_with(1_GiB), 2);
  EXPECT_NEAR(reads.of_workgroups(1, 2), 1.5 * kPanel + 0.5 * kPanel, 1e-6);
  EXPECT_NEAR(reads.of_workgroups(0, 8), reads.total(), 1e-6);
  const StageReads uneven(tiles(3, 1), machine_with(1_GiB), 2);
  EXPECT_NEAR(uneven.of_workgroups(2, 1), kPanel, 1e-6);
}

}  // namespace stages_test
}  // namespace cortado
