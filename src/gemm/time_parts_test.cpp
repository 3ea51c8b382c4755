// Parts of a GEMM's time. All on mi300x-8 at fixed clocks: 304 units.
#include "gemm/time_parts.hpp"

#include <gtest/gtest.h>

#include "gemm/testing.hpp"

namespace cortado {
namespace time_parts_test {

constexpr Tiling kLarge{256, 256, 1};

GemmTimeParts parts(const GemmShape& shape, const Tiling& tiling = kLarge) {
  return gemm_time_parts(shape, tiling, mi300x());
}

TEST(GemmTimeParts, SumIsTheEstimate) {
  for (const GemmShape& shape :
       {GemmShape{8192, 28672, 8192, DType::bf16}, GemmShape{64, 57344, 8192, DType::bf16},
        GemmShape{1000, 999, 500, DType::f16}, GemmShape{65536, 1024, 256, DType::bf16, true}}) {
    for (const Tiling& tiling : {kLarge, Tiling{64, 128, 1}, Tiling{128, 128, 2}}) {
      const GemmTimeParts found = parts(shape, tiling);
      const double seconds = estimate_gemm(shape, tiling, mi300x(), kUnits).seconds;
      EXPECT_NEAR(found.sum() / seconds, 1, 1e-9) << to_string(shape);
      for (const double part : {found.products, found.tiles, found.operands, found.results, found.starts, found.idle}) {
        EXPECT_GE(part, -1e-12) << to_string(shape);
      }
    }
  }
}

// 16 x 19 tiles are one full wave; one row more needs 19 workgroups of a second one.
TEST(GemmTimeParts, IdleUnitsOfTheLastWave) {
  EXPECT_NEAR(parts({16 * 256, 19 * 256, 8192, DType::bf16}).idle, 0, 1e-12);
  const GemmTimeParts found = parts({16 * 256 + 1, 19 * 256, 8192, DType::bf16});
  EXPECT_GT(found.idle, 0.1 * found.sum());
}

// Tiles of 128 x 128 take 1 + 9 / 128 + 9 / 128 of the time for the same GEMMs. 200 rows fill 200 / 256.
TEST(GemmTimeParts, SmallTilesAndPadding) {
  const GemmTimeParts small = parts({4096, 4096, 4096, DType::bf16}, {128, 128, 1});
  EXPECT_NEAR(small.tiles / small.products, 18.0 / 128, 1e-9);
  const GemmTimeParts padded = parts({200, 28672, 8192, DType::bf16});
  EXPECT_NEAR((padded.products + padded.tiles) / padded.products, 256.0 / 200 * (1 + 9.0 / 128), 1e-9);
}

// Panels of k that do little with a large result: reading it takes 131072 x 1024 x 2 bytes more at the memory, 4.1
// TB/s.
TEST(GemmTimeParts, ResultsThatAreAddedTo) {
  GemmShape shape{131072, 1024, 64, DType::bf16};
  const double written = parts(shape).sum();
  shape.accumulate = true;
  const GemmTimeParts added = parts(shape);
  EXPECT_GT(added.results, 0);
  EXPECT_NEAR(added.results + added.idle + added.starts + added.operands + added.tiles + added.products, added.sum(),
              1e-12);
  EXPECT_GT(added.sum(), written);
  const double read = 131072.0 * 1024 * 2 / mi300x().timing->memory.rate.bytes_per_second();
  EXPECT_NEAR(added.results / read, 1, 0.3);
}

// 64 rows against 57344 columns: the weights come from the memory, and only operands count beside them.
TEST(GemmTimeParts, OperandsOfAFewRows) {
  const GemmTimeParts found = parts({64, 57344, 8192, DType::bf16}, {64, 128, 1});
  EXPECT_GT(found.operands, found.products);
}

}  // namespace time_parts_test
}  // namespace cortado
