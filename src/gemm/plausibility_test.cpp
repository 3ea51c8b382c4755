// What holds on every machine whatever its constants are, for types and shapes that nobody measured: no rate above the
// peak, no cliff, more work takes longer.
#include <algorithm>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "gemm/gemm.hpp"
#include "gemm/matrix_timing.hpp"

namespace cortado {
namespace plausibility_test {

constexpr const char* kMachines[] = {"h100-8", "h200-8", "b200-8", "mi300x-8", "mi325x-8", "mi355x-8"};
constexpr DType kTypes[] = {DType::bf16, DType::f16, DType::f8, DType::i8};

/// With the clocks that `bench gemm` has.
Machine benchmarked(const char* name) {
  Machine machine = load_machine(name).value();
  machine.clock = ClockMode::bursts;
  return machine;
}

class Plausible : public testing::TestWithParam<std::tuple<const char*, DType>> {
 protected:
  const Machine machine = benchmarked(std::get<0>(GetParam()));
  const DType dtype = std::get<1>(GetParam());

  double time(std::uint64_t m, std::uint64_t n, std::uint64_t k) const {
    const GemmShape shape{.m = m, .n = n, .k = k, .dtype = dtype};
    const std::uint32_t units = machine.compute_units;
    return to_seconds(gemm_start(machine)) +
           estimate_gemm(shape, choose_tiling(shape, machine, units), machine, units).seconds;
  }

  /// Neighbours along one extent: no step up by more than a wave can cost, none down by more than the choice of kernels
  /// does, which libraries make for whole ranges of shapes.
  template <class Time>
  void expect_no_cliff(std::uint64_t first, std::uint64_t last, Time&& of) const {
    double before = of(first);
    for (std::uint64_t extent = first + 1; extent <= last; ++extent) {
      const double now = of(extent);
      EXPECT_LE(now, 1.2 * before) << extent;
      EXPECT_GE(now, 0.9 * before) << extent;
      before = now;
    }
  }
};

TEST_P(Plausible, NoRateIsAboveThePeak) {
  const MatrixTiming matrix = matrix_timing(*machine.timing->compute, dtype);
  const double clock = machine.power && machine.power->xcd ? machine.power->xcd->nominal_ghz : matrix.clock_ghz;
  const double peak = matrix.flops_per_clock * clock * 1e9 * machine.compute_units;
  for (const std::uint64_t m : {1U, 16U, 257U, 4096U, 16384U}) {
    for (const std::uint64_t n : {1U, 100U, 4097U, 16384U}) {
      for (const std::uint64_t k : {1U, 127U, 8192U, 65536U}) {
        const GemmShape shape{.m = m, .n = n, .k = k, .dtype = dtype};
        EXPECT_LE(flops(shape) / time(m, n, k), peak) << to_string(shape);
        const double bytes = static_cast<double>(read_bytes(shape).value);
        const ComputeTiming& compute = *machine.timing->compute;
        const double caches = compute.dies * static_cast<double>(compute.l2_bytes.value);
        // Beyond the caches operands come from memory, at its peak at best.
        if (bytes > 8 * caches) {
          EXPECT_GE(time(m, n, k), bytes / machine.timing->memory.peak.bytes_per_second()) << to_string(shape);
        }
      }
    }
  }
}

TEST_P(Plausible, RowsHaveNoCliffs) {
  expect_no_cliff(1, 300, [&](std::uint64_t m) { return time(m, 4096, 4096); });
  expect_no_cliff(4090, 4104, [&](std::uint64_t m) { return time(m, 4096, 7168); });
}

TEST_P(Plausible, ColumnsHaveNoCliffs) {
  expect_no_cliff(1, 300, [&](std::uint64_t n) { return time(64, n, 7168); });
  expect_no_cliff(4090, 4120, [&](std::uint64_t n) { return time(16, n, 4096); });
}

TEST_P(Plausible, DepthsHaveNoCliffs) {
  expect_no_cliff(1, 300, [&](std::uint64_t k) { return time(1024, 1024, k); });
  expect_no_cliff(8185, 8200, [&](std::uint64_t k) { return time(16, 512, k); });
}

// Weights are what counts, and rows of A on their way to the units: a few rows take the time of one, nearly.
TEST_P(Plausible, AFewRowsTakeTheTimeOfOne) {
  for (const std::uint64_t n : {1024U, 4096U, 28672U}) {
    for (std::uint64_t m = 2; m <= 16; ++m) {
      EXPECT_NEAR(time(m, n, 8192) / time(1, n, 8192), 1, 0.2) << m << "x" << n;
    }
  }
}

TEST_P(Plausible, TwiceTheWorkTakesLonger) {
  for (std::uint64_t side = 16; side <= 16384; side *= 2) {
    EXPECT_GT(time(side, side, 2 * side), time(side, side, side)) << side;
    EXPECT_GE(time(2 * side, side, side), 0.99 * time(side, side, side)) << side;
    EXPECT_GE(time(side, 2 * side, side), 0.99 * time(side, side, side)) << side;
  }
  // A long k in a small result: as if it were ever so long.
  double before = 0;
  for (std::uint64_t k = 1U << 12; k <= 1U << 26; k *= 2) {
    const double now = time(16, 256, k);
    EXPECT_GT(now, before) << k;
    if (k > 1U << 22) {
      EXPECT_NEAR(now / before, 2, 0.1) << k;
    }
    before = now;
  }
}

std::string name_of(const testing::TestParamInfo<std::tuple<const char*, DType>>& info) {
  std::string name = std::string(std::get<0>(info.param)) + "_" + std::string(to_string(std::get<1>(info.param)));
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Machines, Plausible, testing::Combine(testing::ValuesIn(kMachines), testing::ValuesIn(kTypes)),
                         name_of);

}  // namespace plausibility_test
}  // namespace cortado
