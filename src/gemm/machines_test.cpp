// The machines that say what GEMMs cost: what is published of each is what the model gives.
#include <algorithm>

#include <gtest/gtest.h>

#include "gemm/gemm.hpp"

namespace cortado {
namespace machines_test {

struct Published {
  const char* machine;
  DType dtype;
  double tflops;
};

class AchievableFlops : public testing::TestWithParam<Published> {};

TEST_P(AchievableFlops, AreNearlyReachedByLargeProducts) {
  Machine machine = load_machine(GetParam().machine).value();
  machine.clock = ClockMode::bursts;  // published results are those of benchmarks
  const std::uint32_t units = machine.compute_units;
  const GemmShape shape{.m = 16384, .n = 16384, .k = 8192, .dtype = GetParam().dtype};
  const double rate = flops(shape) / estimate_gemm(shape, choose_tiling(shape, machine, units), machine, units).seconds;
  EXPECT_NEAR(rate / (1e12 * GetParam().tflops), 1, 0.12);
}

INSTANTIATE_TEST_SUITE_P(
    Published, AchievableFlops,
    testing::Values(Published{"mi300x-8", DType::f16, 654}, Published{"mi300x-8", DType::bf16, 708},
                    Published{"mi300x-8", DType::f8, 1273}, Published{"mi325x-8", DType::f16, 794},
                    Published{"mi325x-8", DType::bf16, 843}, Published{"mi325x-8", DType::f8, 1519},
                    Published{"mi355x-8", DType::bf16, 1610}, Published{"mi355x-8", DType::f8, 3250},
                    Published{"h100-8", DType::bf16, 795}, Published{"h200-8", DType::bf16, 795},
                    Published{"b200-8", DType::bf16, 1745}, Published{"b200-8", DType::f8, 3432},
                    Published{"gb200-nvl72", DType::bf16, 1822}));

// A few rows of a large matrix: no cache and no compute unit keeps the memory from its rate.
TEST(MachinesWithProducts, ReachTheirMemory) {
  std::size_t found = 0;
  for (const std::string& name : machine_names()) {
    const Machine machine = load_machine(name).value();
    if (!machine.timing || !machine.timing->compute) continue;
    ++found;
    const std::uint32_t units = machine.compute_units;
    const GemmShape shape{.m = 32, .n = 65536, .k = 16384, .dtype = DType::f16};
    ASSERT_TRUE(check_gemm(shape, machine)) << name;
    const double seconds = estimate_gemm(shape, choose_tiling(shape, machine, units), machine, units).seconds;
    const double memory =
        static_cast<double>(operand_bytes(shape).value) / machine.timing->memory.rate.bytes_per_second();
    EXPECT_GE(seconds, memory) << name;
    EXPECT_LE(seconds, 1.25 * memory) << name;  // waves, and windows of L2
  }
  EXPECT_GE(found, 10U);
}

double bytes_per_second_written(const GemmShape& shape, const char* name) {
  const Machine machine = load_machine(name).value();
  const std::uint32_t units = machine.compute_units;
  const double seconds = estimate_gemm(shape, choose_tiling(shape, machine, units), machine, units).seconds;
  return 2.0 * static_cast<double>(shape.m * shape.n) / seconds;
}

// Measured on H100 with a k of 32 (aiconfigurator): beyond a C of 21 MB the time is 2.7 us + C / 2.5 TB/s, three
// quarters of the peak of the memory; up to 20 MB, which L2 keeps, 8.8 us. H200 has the same L2 and another memory.
TEST(MachinesWithProducts, WriteLargeResultsAtTheRateOfTheMemory) {
  const GemmShape huge{.m = 4096, .n = 65536, .k = 32};
  EXPECT_NEAR(bytes_per_second_written(huge, "h100-8"), 2.5e12, 0.25e12);
  EXPECT_GT(bytes_per_second_written(huge, "h200-8"), 1.2 * bytes_per_second_written(huge, "h100-8"));
  const GemmShape cached{.m = 2049, .n = 3072, .k = 32};
  EXPECT_DOUBLE_EQ(bytes_per_second_written(cached, "h200-8"), bytes_per_second_written(cached, "h100-8"));
}

// Of one row, the rows that fill a tile up take no room in L2, so it does not matter that workgroups fill all compute
// units. Measured on MI300X: 3.6 to 4.1 TB/s for 266 MB to 2 GB (rocm-libraries pull request 12329).
TEST(MachinesWithProducts, StreamOneRowAtOneRate) {
  const Machine machine = load_machine("mi300x-8").value();
  const std::uint32_t units = machine.compute_units;
  double fastest = 0;
  double slowest = 1e99;
  for (const std::uint64_t n : {16384U, 19968U, 32768U, 38016U, 50000U, 76032U, 100000U}) {
    const GemmShape shape{.m = 1, .n = n, .k = 13312, .dtype = DType::bf16};
    const double seconds = estimate_gemm(shape, choose_tiling(shape, machine, units), machine, units).seconds;
    const double rate = static_cast<double>(operand_bytes(shape).value) / seconds;
    fastest = std::max(fastest, rate);
    slowest = std::min(slowest, rate);
  }
  EXPECT_GT(slowest, 0.96 * fastest);
}

}  // namespace machines_test
}  // namespace cortado
