// Products with fewer compute units than the GPU has, as published for 8 MI300X (ConCCL): compute-bound ones lose about
// 17 % with 32 fewer and 27 % with 64 fewer, memory-bound ones lose nothing with 8 fewer and gain up to 10 %. The
// products are those of our thirty scenarios. Nothing was fitted to the first two numbers; the last one set the windows
// of L2.
#include <set>

#include <gtest/gtest.h>

#include "cortado/gemm/gemm.hpp"
#include "cortado/published/scenarios.hpp"

namespace cortado {
namespace {

constexpr std::uint32_t kUnits = 304;

const Machine& mi300x() {
  static const Machine machine = load_machine("mi300x-8").value();
  return machine;
}

std::vector<GemmShape> products(bool memory_bound) {
  std::set<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>> extents;
  for (const auto& scenario : published::load_scenarios("conccl").value()) {
    extents.insert({scenario.m, scenario.n, scenario.k});
  }
  std::vector<GemmShape> shapes;
  for (const auto& [m, n, k] : extents) {
    const GemmShape shape{.m = m, .n = n, .k = k, .dtype = DType::bf16};
    if (is_memory_bound(shape, mi300x()) == memory_bound) shapes.push_back(shape);
  }
  return shapes;
}

double seconds(const GemmShape& shape, std::uint32_t tiling_units, std::uint32_t units) {
  return estimate_gemm(shape, choose_tiling(shape, mi300x(), tiling_units), mi300x(), units).seconds;
}

/// With so many units withheld from a kernel that was chosen for all.
double mean_slowdown(std::uint32_t fewer) {
  const std::vector<GemmShape> shapes = products(false);
  EXPECT_GE(shapes.size(), 6U);
  double sum = 0;
  for (const GemmShape& shape : shapes) sum += seconds(shape, kUnits, kUnits - fewer) / seconds(shape, kUnits, kUnits);
  return sum / static_cast<double>(shapes.size()) - 1;
}

TEST(GemmUnits, ComputeBoundProductsLoseWithTheirUnits) {
  EXPECT_NEAR(mean_slowdown(32), 0.17, 0.05);
  EXPECT_NEAR(mean_slowdown(64), 0.27, 0.05);
}

TEST(GemmUnits, MemoryBoundProductsGainALittleWithEightUnitsFewer) {
  const std::vector<GemmShape> shapes = products(true);
  ASSERT_GE(shapes.size(), 3U);
  for (const GemmShape& shape : shapes) {
    const double change = seconds(shape, kUnits - 8, kUnits - 8) / seconds(shape, kUnits, kUnits);
    EXPECT_LE(change, 1.001) << to_string(shape);
    EXPECT_GE(change, 0.90) << to_string(shape);
  }
}

}  // namespace
}  // namespace cortado
