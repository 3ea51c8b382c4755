#include <gtest/gtest.h>

#include "cortado/gemm/gemm.hpp"

#include "gemm/testing.hpp"

namespace cortado {
namespace tiling_test {

Tiling chosen(const GemmShape& shape, std::uint32_t units = kUnits) {
  return choose_tiling(shape, mi300x(), units);
}

// 16 x 19 tiles of 256 x 256 are one full wave of 304.
TEST(ChooseTiling, ProductsThatFillTheUnitsGetTheLargestTile) {
  EXPECT_EQ(chosen({.m = 16 * 256, .n = 19 * 256, .k = 8192, .dtype = DType::bf16}), (Tiling{256, 256, 1}));
}

// 16384 x 16384: 4096 of the largest tiles are 13.47 waves and take 14. 8192 of half the size are 26.95 waves, 27, of
// (1 + 12 / 256 + 12 / 128) / (1 + 24 / 256) / 2 = 0.521 each: 14.08, nearly as fast, and hardly a unit is idle.
TEST(ChooseTiling, OfNearlyEqualOnesTheOneThatLeavesTheFewestUnitsIdle) {
  EXPECT_EQ(chosen({.m = 16384, .n = 16384, .k = 16384, .dtype = DType::bf16}), (Tiling{256, 128, 1}));
}

TEST(ChooseTiling, NoTileIsMostlyPadding) {
  for (const std::uint64_t m : {1U, 31U, 32U, 33U, 64U, 100U, 128U, 129U}) {
    const GemmShape shape{.m = m, .n = 8192, .k = 8192, .dtype = DType::bf16};
    const Tiling tiling = chosen(shape);
    EXPECT_TRUE(tiling.tile_m == 32 || tiling.tile_m < 2 * m) << m;
  }
}

// One tile of 256 leaves 303 of 304 units idle; smaller tiles and pieces of a long k are what there is to divide.
TEST(ChooseTiling, FewTilesOfALongProductAreSplit) {
  const GemmShape shape{.m = 256, .n = 256, .k = 65536, .dtype = DType::bf16};
  const Tiling tiling = chosen(shape);
  EXPECT_GT(tiling.split_k, 1U);
  EXPECT_GE(workgroups(shape, tiling), 128U);
}

TEST(ChooseTiling, NothingIsSplitWhereTilesFillTheUnitsOrKIsShort) {
  EXPECT_EQ(chosen({.m = 8192, .n = 8192, .k = 65536, .dtype = DType::bf16}).split_k, 1U);
  EXPECT_EQ(chosen({.m = 64, .n = 64, .k = 1000, .dtype = DType::bf16}).split_k, 1U);  // less than 2 x 512
}

TEST(ChooseTiling, IsNoSlowerThanAnyOther) {
  for (const std::uint64_t m : {64U, 1000U, 8192U}) {
    const GemmShape shape{.m = m, .n = 10240, .k = 8192, .dtype = DType::bf16};
    for (const std::uint32_t units : {240U, 304U}) {
      const auto seconds = [&](const Tiling& tiling) {
        return estimate_gemm(shape, tiling, mi300x(), units, L2Windows::ample).seconds;
      };
      const double best = seconds(chosen(shape, units));
      for (const std::uint64_t tile_m : {32U, 64U, 128U, 256U}) {
        for (const std::uint64_t tile_n : {32U, 64U, 128U, 256U}) {
          EXPECT_LE(best, 1.01 * seconds({tile_m, tile_n, 1})) << m << " " << tile_m << " x " << tile_n;
        }
      }
    }
  }
}

}  // namespace tiling_test
}  // namespace cortado
