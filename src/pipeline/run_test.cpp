#include "cortado/pipeline/run.hpp"

#include <gtest/gtest.h>

#include "cortado/pipeline/devices.hpp"

namespace cortado::pipeline {
namespace run_test {

Machine mi300x() {
  auto machine = load_machine("mi300x-8");
  EXPECT_TRUE(machine) << to_string(machine.error());
  return *std::move(machine);
}

std::unique_ptr<device::Driver> soft_node(const Machine& machine, device::SoftOptions options = {}) {
  options.workers = 0;
  auto driver = open_device({"soft", 8, std::move(options)}, machine);
  EXPECT_TRUE(driver) << to_string(driver.error());
  return *std::move(driver);
}

CollectiveRequest all_gather() {
  CollectiveRequest request;
  request.collective = "all-gather";
  request.bytes = 64_KiB;
  request.in_place = true;
  return request;
}

TEST(Pipeline, PlansProvesRunsAndChecksAnAllGather) {
  const Machine machine = mi300x();
  const auto driver = soft_node(machine);
  RunSettings settings;
  settings.run.iterations = 3;
  settings.run.check = device::CheckOutputs::every;
  const auto report = run_collective(all_gather(), machine, *driver, settings);
  ASSERT_TRUE(report) << to_string(report.error().errors.front());
  EXPECT_EQ(report->result.wrong_bytes, 0U);
  // 8 ranks x 64 KiB of output x 3 iterations.
  EXPECT_EQ(report->result.checked_bytes, 8U * 65536U * 3U);
  EXPECT_EQ(report->result.timeline.iteration_times.size(), 3U);
  EXPECT_EQ(report->bytes, 64_KiB);
  // Every GPU copies its block to 7 peers: 56 commands, and pcpy has a signal and a doorbell for each.
  EXPECT_EQ(report->counts.commands, 56U);
  EXPECT_EQ(report->counts.signals, 56U);
  EXPECT_EQ(report->counts.doorbells, 56U);
  EXPECT_GT(report->time.value, 0);
  ASSERT_TRUE(report->bandwidths);
  EXPECT_DOUBLE_EQ(report->bandwidths->bus, report->bandwidths->algorithm * 7 / 8);
}

TEST(Pipeline, AProgramWithAProductHasNoBandwidth) {
  Program program = plan_collective(all_gather(), mi300x()).value();
  Timeline timeline;
  timeline.iteration_times = {{1000}};
  const auto bandwidths = figures_of(program, timeline).bandwidths;
  ASSERT_TRUE(bandwidths);
  EXPECT_DOUBLE_EQ(bandwidths->algorithm, 65.536);  // 64 KiB in a microsecond
  program.contract.products.emplace_back();
  EXPECT_FALSE(figures_of(program, timeline).bandwidths);
}

TEST(Pipeline, TellsItsStagesAndHowFarTheRunIs) {
  const Machine machine = mi300x();
  const auto driver = soft_node(machine);
  std::vector<Stage> stages;
  std::vector<std::uint64_t> done;
  RunSettings settings;
  settings.run.iterations = 3;
  settings.on_stage = [&](Stage stage) { stages.push_back(stage); };
  settings.run.progress = [&](std::uint64_t iterations, std::uint64_t of) {
    EXPECT_EQ(of, 3U);
    done.push_back(iterations);
  };
  ASSERT_TRUE(run_collective(all_gather(), machine, *driver, settings));
  EXPECT_EQ(stages, (std::vector{Stage::verify, Stage::prepare, Stage::run}));
  EXPECT_EQ(done, (std::vector<std::uint64_t>{1, 2, 3}));
}

TEST(Pipeline, ARefusedProgramFailsAtVerify) {
  const Machine machine = mi300x();
  const auto driver = soft_node(machine);
  auto program = plan_collective(all_gather(), machine);
  ASSERT_TRUE(program);
  // Without its last command the host queue ends before the outputs are complete.
  for (Queue& queue : program->queues) {
    if (queue.kind == QueueKind::host) std::erase_if(queue.commands, [](const Command& c) { return c.index() == 3; });
  }
  const auto report = run_program(*std::move(program), machine, *driver, {});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().stage, Stage::verify);
  EXPECT_TRUE(report.error().program_failed());
}

TEST(Pipeline, ABadRequestFailsAtPlan) {
  const Machine machine = mi300x();
  const auto driver = soft_node(machine);
  CollectiveRequest request = all_gather();
  request.variant = "no-such-variant";
  const auto report = run_collective(request, machine, *driver, {});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().stage, Stage::plan);
  EXPECT_FALSE(report.error().program_failed());
}

TEST(Pipeline, AStalledEngineFailsAtRun) {
  const Machine machine = mi300x();
  device::SoftOptions options;
  options.faults.stalled_engines.push_back({RankId{0}, EngineId{14}, 0});
  const auto driver = soft_node(machine, std::move(options));
  RunSettings settings;
  settings.run.timeout = std::chrono::milliseconds(100);
  const auto report = run_collective(all_gather(), machine, *driver, settings);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().stage, Stage::run);
  EXPECT_EQ(report.error().errors.front().code, "device.timeout");
  EXPECT_TRUE(report.error().program_failed());
}

TEST(Pipeline, AMissingFileIsAnError) {
  const auto program = load_program("/no/such/file.json");
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().place.file, "/no/such/file.json");
}

}  // namespace run_test
}  // namespace cortado::pipeline
