#include "cortado/pipeline/point_runner.hpp"

#include <gtest/gtest.h>

#include "cortado/pipeline/devices.hpp"
#include "cortado/pipeline/simulate.hpp"

namespace cortado::pipeline {
namespace point_runner_test {

BenchRequest small_sweep() {
  BenchRequest request;
  request.base.collective = "all-gather";
  request.sizes = {1_KiB, 4_KiB, 1_MiB};
  request.iterations = 1;
  request.warmup = 0;
  return request;
}

TEST(PointRunner, SimulatedRowsAreThoseOfTheSimulatorForEveryThreadCount) {
  const Machine machine = load_machine("mi300x-8").value();
  const BenchRequest request = small_sweep();
  const auto plan = plan_bench(request, machine);
  ASSERT_TRUE(plan) << to_string(plan.error().errors.front());
  for (const std::uint32_t threads : {1U, 3U, 100U}) {
    const auto runner = simulate_points(*plan, request, threads);
    ASSERT_TRUE(runner) << to_string(runner.error());
    EXPECT_TRUE((*runner)->simulated());
    EXPECT_EQ((*runner)->where(), "mi300x-8");
    for (std::size_t i = 0; i < plan->points.size(); ++i) {
      const auto row = (*runner)->run(i);
      const auto alone = simulate_verified(plan->points[i].program);
      ASSERT_TRUE(row) << to_string(row.error().errors.front());
      ASSERT_TRUE(alone) << to_string(alone.error().errors.front());
      EXPECT_EQ(row->bytes, plan->points[i].request.bytes);
      EXPECT_EQ(row->variant, plan->points[i].request.variant);
      EXPECT_EQ(row->time, alone->time);
      EXPECT_FALSE(row->wrong);
    }
  }
}

TEST(PointRunner, ASweepMayBeLeftBeforeItsEnd) {
  const Machine machine = load_machine("mi300x-8").value();
  const BenchRequest request = small_sweep();
  const auto plan = plan_bench(request, machine);
  ASSERT_TRUE(plan);
  const auto runner = simulate_points(*plan, request, 2);
  ASSERT_TRUE(runner);
  EXPECT_TRUE((*runner)->run(0));
}

TEST(PointRunner, AMachineWithoutTimingIsRefusedBeforeAnyPoint) {
  Machine machine = load_machine("mi300x-8").value();
  machine.timing.reset();
  const BenchRequest request = small_sweep();
  const auto plan = plan_bench(request, machine);
  ASSERT_TRUE(plan);
  const auto runner = simulate_points(*plan, request, 2);
  ASSERT_FALSE(runner);
  EXPECT_EQ(runner.error().code, "sim.timing");
}

TEST(PointRunner, MeasuredRowsAreChecked) {
  const Machine machine = load_machine("mi300x-8").value();
  BenchRequest request = small_sweep();
  request.sizes = {1_KiB};
  const auto plan = plan_bench(request, machine);
  ASSERT_TRUE(plan);
  DeviceRequest device;
  device.gpus = 8;
  device.soft.workers = 0;
  auto driver = open_device(device, machine);
  ASSERT_TRUE(driver) << to_string(driver.error());
  const auto runner = measure_points(*plan, request, *std::move(driver), {});
  EXPECT_FALSE(runner->simulated());
  for (std::size_t i = 0; i < plan->points.size(); ++i) {
    const auto row = runner->run(i);
    ASSERT_TRUE(row) << to_string(row.error().errors.front());
    EXPECT_EQ(row->wrong, 0U);
  }
}

}  // namespace point_runner_test
}  // namespace cortado::pipeline
