// The model against the roofline of mi300x-8, over random shapes: never above it, and not far below where shapes are
// large. On paper 304 units at 2.1 GHz and 5.3 TB/s.
#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "gemm/gemm.hpp"
#include "gemm/testing.hpp"

namespace cortado {
namespace roofline_test {

constexpr int kShapes = 200;

double flops_per_clock(DType dtype) {
  return dtype == DType::f32 ? 256 : dtype == DType::f8 ? 4096 : 2048;
}

double roofline_seconds(const GemmShape& shape) {
  const double products = flops(shape) / (kUnits * flops_per_clock(shape.dtype) * 2.1e9);
  return std::max(products, static_cast<double>(operand_bytes(shape).value) / 5.3e12);
}

GemmEstimate chosen(const GemmShape& shape) {
  return estimate_gemm(shape, choose_tiling(shape, mi300x(), kUnits), mi300x(), kUnits);
}

class RandomShapes {
 public:
  /// Every size is as likely as its double.
  std::uint64_t extent(double least) {
    const double exponent = std::uniform_real_distribution<>(std::log2(least), 16)(random_);
    return static_cast<std::uint64_t>(std::exp2(exponent));
  }
  DType dtype() {
    constexpr std::array<DType, 4> kTypes{DType::f32, DType::f16, DType::bf16, DType::f8};
    return kTypes.at(std::uniform_int_distribution<std::size_t>(0, 3)(random_));
  }
  GemmShape shape(double least) {
    return {.m = extent(least), .n = extent(least), .k = extent(least), .dtype = dtype()};
  }

 private:
  std::mt19937_64 random_{4};
};

TEST(GemmRoofline, NothingIsAboveThePeak) {
  RandomShapes random;
  for (int i = 0; i < kShapes; ++i) {
    const GemmShape shape = random.shape(1);
    EXPECT_GE(chosen(shape).seconds, roofline_seconds(shape)) << to_string(shape);
  }
}

TEST(GemmRoofline, LargeShapesReachATenthOfIt) {
  RandomShapes random;
  for (int i = 0; i < kShapes; ++i) {
    const GemmShape shape = random.shape(1024);
    EXPECT_GE(chosen(shape).seconds, roofline_seconds(shape)) << to_string(shape);
    EXPECT_LE(chosen(shape).seconds, 10 * roofline_seconds(shape)) << to_string(shape);
  }
}

// More rows cost more, but for what a library's choice among nearly equal kernels makes: it does not know of the
// windows of L2, which cost up to a tenth.
TEST(GemmRoofline, TimeGrowsWithTheRows) {
  RandomShapes random;
  for (int i = 0; i < kShapes; ++i) {
    GemmShape shape = random.shape(256);
    shape.m = 1;
    double before = 0;
    while (shape.m < 65536) {
      const double time = chosen(shape).seconds + 1e-9 * static_cast<double>(gemm_start(mi300x()).value);
      EXPECT_GE(time, 0.85 * before) << to_string(shape);
      before = time;
      shape.m += 1 + shape.m / 3;
    }
  }
}

}  // namespace roofline_test
}  // namespace cortado
