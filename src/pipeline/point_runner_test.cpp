#include <gtest/gtest.h>

#include "cortado/target.hpp"

#include "pipeline/bench.hpp"

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
    const auto target = simulator();
    PointRunner runner(*plan, request, *target, {}, threads);
    for (std::size_t i = 0; i < plan->points.size(); ++i) {
      const auto row = runner.run(i);
      const auto alone = target->run(plan->points[i].program, {});
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
  const auto target = simulator();
  PointRunner runner(*plan, request, *target, {}, 2);
  EXPECT_TRUE(runner.run(0));
}

TEST(PointRunner, MeasuredRowsAreChecked) {
  const Machine machine = load_machine("mi300x-8").value();
  BenchRequest request = small_sweep();
  request.sizes = {1_KiB};
  const auto plan = plan_bench(request, machine);
  ASSERT_TRUE(plan);
  TargetRequest device;
  device.gpus = 8;
  device.soft.workers = 0;
  const auto target = open_target(device, machine);
  ASSERT_TRUE(target) << to_string(target.error());
  PointRunner runner(*plan, request, **target, {}, 1);
  for (std::size_t i = 0; i < plan->points.size(); ++i) {
    const auto row = runner.run(i);
    ASSERT_TRUE(row) << to_string(row.error().errors.front());
    EXPECT_EQ(row->wrong, 0U);
  }
}

}  // namespace point_runner_test
}  // namespace cortado::pipeline
