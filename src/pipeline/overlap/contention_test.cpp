#include "pipeline/overlap/contention.hpp"

#include <gtest/gtest.h>

#include "cortado/target.hpp"

#include "plan/ficco.hpp"

namespace cortado::pipeline {
namespace contention_test {

Machine mi300x() {
  Result<Machine> machine = load_machine("mi300x-8");
  EXPECT_TRUE(machine) << to_string(machine.error());
  return *std::move(machine);
}

/// Memory and fabric that nothing can fill, and caches that hold everything.
Machine without_limits() {
  Machine machine = mi300x();
  MemoryTiming& memory = machine.timing->memory;
  memory.rate = GBps{1e9};
  memory.cache_rate = GBps{1e9};
  machine.timing->compute->fabric_products = 0;
  return machine;
}

// The collective takes about as long as the GEMM.
const DependentRequest kRequest{.gemm = {32768, 2048, 16384, DType::bf16}, .collective = "all-gather"};

Contention contention(const Machine& machine, const FiccoSchedule& schedule,
                      const DependentRequest& request = kRequest) {
  auto plan = plan_ficco(request, schedule, machine);
  EXPECT_TRUE(plan) << to_string(plan.error());
  const auto verified = prove(std::move(plan->program), machine);
  EXPECT_TRUE(verified) << to_string(verified.error().errors.front());
  const auto run = simulator()->run(*verified, {.trace = true});
  EXPECT_TRUE(run) << to_string(run.error().errors.front());
  const auto found = contention_of(*verified, run->timeline);
  EXPECT_TRUE(found) << to_string(found.error().errors.front());
  return *found;
}

Contention contention(const Machine& machine, const char* schedule, CollectiveMeans means = CollectiveMeans::dma) {
  Result<FiccoSchedule> found = find_schedule(schedule);
  EXPECT_TRUE(found) << to_string(found.error());
  found->means = means;
  return contention(machine, *found);
}

constexpr std::array kCut{"uniform-fused-1d", "hetero-fused-1d", "hetero-unfused-1d", "uniform-fused-2d"};

TEST(Contention, OneAfterTheOtherHasNone) {
  const Contention serial = contention(mi300x(), "serial-dma");
  EXPECT_NEAR(serial.gemm(), 1, 1e-6);
  EXPECT_NEAR(serial.comm(), 1, 1e-6);
  EXPECT_GT(serial.products.value, 0);
  EXPECT_GT(serial.first_wait, Nanoseconds{1'000'000});  // all of the collective: 7 x 128 MiB
  EXPECT_EQ(serial.later_waits.value, 0);
  EXPECT_EQ(serial.other_kernels.value, 0);
}

TEST(Contention, BothAreSlowerSideBySide) {
  const Machine machine = mi300x();
  for (const char* schedule : kCut) {
    const Contention found = contention(machine, schedule);
    EXPECT_GT(found.gemm(), 1.01) << schedule;
    EXPECT_GT(found.comm(), 1.01) << schedule;
    EXPECT_LT(found.gemm(), 2) << schedule;
    EXPECT_LT(found.comm(), 2) << schedule;
  }
}

TEST(Contention, WhereNothingIsFullNothingIsLost) {
  const Machine machine = without_limits();
  for (const char* schedule : kCut) {
    const Contention found = contention(machine, schedule);
    EXPECT_NEAR(found.gemm(), 1, 1e-3) << schedule;
    EXPECT_NEAR(found.comm(), 1, 1e-3) << schedule;
  }
}

TEST(Contention, ACollectiveOnComputeUnitsTakesThemFromTheProducts) {
  const Machine machine = mi300x();
  const Contention engines = contention(machine, "hetero-fused-1d");
  const Contention cores = contention(machine, "hetero-fused-1d", CollectiveMeans::cores);
  EXPECT_EQ(cores.products_alone, engines.products_alone);
  EXPECT_GT(cores.gemm(), engines.gemm());
  // 28 units (7 parts of 4) are held while pieces travel, which leaves 276 of 304.
  EXPECT_GT(contention(without_limits(), "hetero-fused-1d", CollectiveMeans::cores).gemm(), 1.05);
}

// 64 pieces of 64 x 2048 x 64 take much less than the steps travel: the kernels mostly wait, which is not contention.
TEST(Contention, WaitingIsNotCounted) {
  DependentRequest request = kRequest;
  request.gemm = {32768, 32, 8192, DType::bf16};
  const Contention found = contention(without_limits(), *find_schedule("hetero-fused-1d"), request);
  EXPECT_GT(found.first_wait + found.later_waits, found.products);
  EXPECT_NEAR(found.gemm(), 1, 1e-3);
  EXPECT_NEAR(found.comm(), 1, 1e-3);
}

TEST(Contention, ScatteredRowsAreOtherKernels) {
  const Machine machine = mi300x();
  EXPECT_GT(contention(machine, "uniform-fused-1d").other_kernels.value, 0);
  EXPECT_EQ(contention(machine, "hetero-unfused-1d").other_kernels.value, 0);
}

TEST(Contention, ProductsFirstAreJudgedAsWell) {
  DependentRequest request = kRequest;
  request.collective = "reduce-scatter";
  request.dependence = Dependence::product_first;
  const Contention found = contention(mi300x(), *find_schedule("hetero-fused-1d"), request);
  EXPECT_GT(found.gemm(), 1);
  EXPECT_GT(found.comm(), 1);
  EXPECT_GT(found.other_kernels.value, 0);  // sums
}

}  // namespace contention_test
}  // namespace cortado::pipeline
