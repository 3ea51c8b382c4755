// Memory-bound GEMMs of our thirty scenarios, one by one, with 8 compute units fewer: published for 8 MI300X
// (ConCCL) is that they lose nothing and gain up to 10 %, which set the windows of L2. Averages, and compute-bound
// GEMMs with 32 and 64 fewer, are figures of the publication (conccl_test.cpp).
#include <set>
#include <tuple>

#include <gtest/gtest.h>

#include "gemm/gemm.hpp"
#include "reproduce/published/scenarios.hpp"

namespace cortado {
namespace gemm_units_test {

constexpr std::uint32_t kUnits = 304;

const Machine& mi300x() {
  static const Machine machine = load_machine("mi300x-8").value();
  return machine;
}

std::vector<GemmShape> memory_bound_products() {
  std::set<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>> extents;
  const auto scenarios = published::load_scenarios("conccl").value();
  for (const auto& scenario : scenarios) {
    extents.insert({scenario.m, scenario.n, scenario.k});
  }
  std::vector<GemmShape> shapes;
  for (const auto& [m, n, k] : extents) {
    const GemmShape shape{.m = m, .n = n, .k = k, .dtype = DType::bf16};
    if (is_memory_bound(shape, mi300x())) shapes.push_back(shape);
  }
  return shapes;
}

double seconds(const GemmShape& shape, std::uint32_t units) {
  return estimate_gemm(shape, choose_tiling(shape, mi300x(), units), mi300x(), units).seconds;
}

TEST(GemmUnits, MemoryBoundProductsGainALittleWithEightUnitsFewer) {
  const std::vector<GemmShape> shapes = memory_bound_products();
  ASSERT_GE(shapes.size(), 3U);
  for (const GemmShape& shape : shapes) {
    const double change = seconds(shape, kUnits - 8) / seconds(shape, kUnits);
    EXPECT_LE(change, 1.005) << to_string(shape);
    EXPECT_GE(change, 0.90) << to_string(shape);
  }
}

}  // namespace gemm_units_test
}  // namespace cortado
