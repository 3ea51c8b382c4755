#include "ir/tiles.hpp"

#include <gtest/gtest.h>

namespace cortado {
namespace tiles_test {

Region matrix(std::uint32_t buffer, std::uint64_t rows, std::uint64_t columns) {
  return {{buffer}, {}, {4 * columns}, rows, {4 * columns}};
}

/// 5 x 6 elements in tiles of 2 x 4.
Gemm product() {
  return {.a = matrix(0, 5, 7),
          .b = matrix(1, 7, 6),
          .c = matrix(2, 5, 6),
          .m = 5,
          .n = 6,
          .k = 7,
          .tile_m = 2,
          .tile_n = 4};
}

TEST(Tiles, WithoutAMapCIsOneBlock) {
  EXPECT_EQ(output_blocks(product()), (std::vector<OutputBlock>{{0, 0, 5, 6, matrix(2, 5, 6), CopyOp::store}}));
  EXPECT_EQ(tile_count(product()), 3U * 2U);
}

TEST(Tiles, NoTileSpansTwoBlocks) {
  Gemm gemm = product();
  // Three rows and two rows: 2 x 2 and 1 x 2 tiles, though 5 rows alone make three rows of tiles.
  gemm.outputs = {{3, 0, 2, 6, matrix(3, 2, 6)}, {0, 0, 3, 3, matrix(4, 3, 3)}, {0, 3, 3, 3, matrix(5, 3, 3)}};
  EXPECT_EQ(tile_count(gemm, gemm.outputs[0]), 2U);
  EXPECT_EQ(tile_count(gemm, gemm.outputs[1]), 2U);
  EXPECT_EQ(tile_count(gemm), 6U);
}

TEST(Tiles, ABlockIsAProductOfRowsOfAAndColumnsOfB) {
  Gemm gemm = product();
  gemm.outputs = {{1, 2, 3, 4, matrix(3, 3, 4), CopyOp::add}};
  const Gemm part = block_gemm(gemm, gemm.outputs[0]);
  EXPECT_EQ(part.a, (Region{{0}, {1 * 28}, {28}, 3, {28}}));
  EXPECT_EQ(part.b, (Region{{1}, {2 * 4}, {16}, 7, {24}}));
  EXPECT_EQ(part.c, matrix(3, 3, 4));
  EXPECT_EQ(part.m, 3U);
  EXPECT_EQ(part.n, 4U);
  EXPECT_EQ(part.k, 7U);
  EXPECT_TRUE(part.outputs.empty());
}

}  // namespace tiles_test
}  // namespace cortado
