// GEMM times over whole sweeps of shapes; goals_test.cpp compares measured points.
#include <gtest/gtest.h>

#include "pipeline/gemm_bench.hpp"

namespace cortado {
namespace gemm_accuracy_test {

std::vector<pipeline::GemmBenchRow> rows(const char* machine, const std::vector<GemmShape>& shapes) {
  Machine benchmarked = load_machine(machine).value();
  benchmarked.clock = ClockMode::bursts;
  return pipeline::predict_gemms(shapes, benchmarked).value().rows;
}

class GemmSweeps : public testing::TestWithParam<const char*> {};

// n = k = 4096: no row more costs more than a fifth, and none makes it faster by more than kernels that are taken for
// equal differ.
TEST_P(GemmSweeps, HaveNoCliffs) {
  std::vector<GemmShape> shapes;
  for (std::uint64_t m = 128; m <= 4097; ++m) shapes.push_back({.m = m, .n = 4096, .k = 4096, .dtype = DType::bf16});
  const auto all = rows(GetParam(), shapes);
  for (std::size_t i = 1; i < all.size(); ++i) {
    EXPECT_LE(all[i].time_us, 1.2 * all[i - 1].time_us) << all[i].shape.m;
    EXPECT_GE(all[i].time_us, 0.96 * all[i - 1].time_us) << all[i].shape.m;
  }
}

TEST_P(GemmSweeps, StayBelowThePeaks) {
  const Machine machine = load_machine(GetParam()).value();
  const ComputeTiming& compute = *machine.timing->compute;
  std::vector<GemmShape> shapes;
  for (std::uint64_t m = 1; m <= 32768; m *= 8) {
    for (std::uint64_t n = 64; n <= 32768; n *= 8) {
      for (std::uint64_t k = 64; k <= 32768; k *= 8) shapes.push_back({.m = m, .n = n, .k = k, .dtype = DType::bf16});
    }
  }
  const double clock = machine.power ? machine.power->xcd->nominal_ghz : compute.bf16.clock_ghz;
  const double peak = machine.compute_units * compute.bf16.flops_per_clock * clock * 1e-3;
  for (const auto& row : rows(GetParam(), shapes)) EXPECT_LE(row.tflops, peak) << to_string(row.shape);
}

INSTANTIATE_TEST_SUITE_P(Machines, GemmSweeps,
                         testing::Values("h100-8", "h200-8", "b200-8", "mi300x-8", "mi325x-8", "mi355x-8"));

}  // namespace gemm_accuracy_test
}  // namespace cortado
