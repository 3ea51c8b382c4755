#include "gemm/gemm.hpp"

#include <gtest/gtest.h>

namespace cortado {
namespace gemm_test {

TEST(GemmCommand, SaysAllOfShapeAndTiling) {
  const GemmShape shape{.m = 96, .n = 64, .k = 32, .dtype = DType::f16, .accumulate = true};
  const Tiling tiling{.tile_m = 64, .tile_n = 32, .split_k = 4};
  const Region a = make_region({1}, {0}, {6144});
  const Region b = make_region({2}, {0}, {4096});
  const Region c = make_region({3}, {0}, {12288});
  const Gemm gemm = gemm_command(shape, tiling, a, b, c);
  EXPECT_EQ(shape_of(gemm), shape);
  EXPECT_EQ(tiling_of(gemm), tiling);
  EXPECT_EQ(gemm.a, a);
  EXPECT_EQ(gemm.b, b);
  EXPECT_EQ(gemm.c, c);
  EXPECT_TRUE(gemm.raises.empty());
}

}  // namespace gemm_test
}  // namespace cortado
