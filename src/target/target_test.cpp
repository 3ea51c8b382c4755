#include "cortado/target.hpp"

#include <gmock/gmock.h>

#include "cortado/plan.hpp"
#include "cortado/program.hpp"
#include "cortado/timeline.hpp"

#include "device/driver/driver.hpp"

namespace cortado {
namespace target_test {

using testing::HasSubstr;

Machine mi300x() {
  auto machine = load_machine("mi300x-8");
  EXPECT_TRUE(machine) << to_string(machine.error());
  return *std::move(machine);
}

std::unique_ptr<Target> soft_node(const Machine& machine, device::SoftOptions options = {}) {
  options.workers = 0;
  auto target = open_target({"soft", 8, std::move(options)}, machine);
  EXPECT_TRUE(target) << to_string(target.error());
  return *std::move(target);
}

CollectiveRequest all_gather() {
  CollectiveRequest request;
  request.collective = "all-gather";
  request.bytes = 64_KiB;
  request.in_place = true;
  return request;
}

TEST(DeviceTarget, PlansProvesRunsAndChecksAnAllGather) {
  const Machine machine = mi300x();
  const auto target = soft_node(machine);
  RunOptions options;
  options.iterations = 3;
  options.device.check = device::CheckOutputs::every;
  const auto report = run_on(*target, plan_collective(all_gather(), machine), machine, options);
  ASSERT_TRUE(report) << to_string(report.error().errors.front());
  EXPECT_EQ(report->check->wrong, 0U);
  // 8 ranks x 64 KiB of output x 3 iterations.
  EXPECT_EQ(report->check->checked, 8U * 65536U * 3U);
  EXPECT_EQ(report->timeline.iteration_times.size(), 3U);
  EXPECT_EQ(report->bandwidths->algorithm, bandwidth_gbps(64_KiB, report->time));
  // Every GPU copies its block to 7 peers: 56 commands, and pcpy has a signal and a doorbell for each.
  EXPECT_EQ(report->counts.commands, 56U);
  EXPECT_EQ(report->counts.signals, 56U);
  EXPECT_EQ(report->counts.doorbells, 56U);
  EXPECT_GT(report->time.value, 0);
  ASSERT_TRUE(report->bandwidths);
  EXPECT_DOUBLE_EQ(report->bandwidths->bus, report->bandwidths->algorithm * 7 / 8);
}

TEST(DeviceTarget, AProgramWithAProductHasNoBandwidth) {
  Program program = plan_collective(all_gather(), mi300x()).value();
  const auto run = simulate_checked(unproved(program, mi300x()), {}).value();
  ASSERT_TRUE(run.bandwidths);
  EXPECT_DOUBLE_EQ(run.bandwidths->algorithm, 65536.0 / static_cast<double>(run.time.value));  // 64 KiB
  program.contract.products.emplace_back();
  EXPECT_FALSE(simulate_checked(unproved(program, mi300x()), {}).value().bandwidths);
}

TEST(DeviceTarget, TellsItsStagesAndHowFarTheRunIs) {
  const Machine machine = mi300x();
  const auto target = soft_node(machine);
  std::vector<Stage> stages;
  std::vector<std::uint64_t> done;
  RunOptions options;
  options.iterations = 3;
  options.on_stage = [&](Stage stage) { stages.push_back(stage); };
  options.device.progress = [&](std::uint64_t iterations, std::uint64_t of) {
    EXPECT_EQ(of, 3U);
    done.push_back(iterations);
  };
  ASSERT_TRUE(run_on(*target, plan_collective(all_gather(), machine), machine, options));
  EXPECT_EQ(stages, (std::vector{Stage::verify, Stage::prepare, Stage::run}));
  EXPECT_EQ(done, (std::vector<std::uint64_t>{1, 2, 3}));
}

TEST(DeviceTarget, ARefusedProgramFailsAtVerify) {
  const Machine machine = mi300x();
  const auto target = soft_node(machine);
  auto program = plan_collective(all_gather(), machine);
  ASSERT_TRUE(program);
  // Without its last command the host queue ends before the outputs are complete.
  for (Queue& queue : program->queues) {
    if (queue.kind == QueueKind::host) std::erase_if(queue.commands, [](const Command& c) { return c.index() == 3; });
  }
  const auto report = run_on(*target, std::move(program), machine);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().stage, Stage::verify);
  EXPECT_TRUE(report.error().program_failed());
}

TEST(DeviceTarget, ABadRequestFailsAtPlan) {
  const Machine machine = mi300x();
  const auto target = soft_node(machine);
  CollectiveRequest request = all_gather();
  request.variant = "no-such-variant";
  const auto report = run_on(*target, plan_collective(request, machine), machine);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().stage, Stage::plan);
  EXPECT_FALSE(report.error().program_failed());
}

TEST(DeviceTarget, AStalledEngineFailsAtRun) {
  const Machine machine = mi300x();
  device::SoftOptions soft;
  soft.faults.stalled_engines.push_back({RankId{0}, EngineId{14}, 0});
  const auto target = soft_node(machine, std::move(soft));
  RunOptions options;
  options.device.timeout = std::chrono::milliseconds(100);
  const auto report = run_on(*target, plan_collective(all_gather(), machine), machine, options);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().stage, Stage::run);
  EXPECT_EQ(report.error().errors.front().code, "device.timeout");
  EXPECT_TRUE(report.error().program_failed());
}

TEST(DeviceTarget, AMissingFileIsAnError) {
  const auto program = load_program("/no/such/file.json");
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().place.file, "/no/such/file.json");
}

/// virtual-64: packet 50, submit 500, fetch, copy_start and sync 1000, poll 20 ns; 50 bytes a nanosecond.
TEST(SimTarget, TheCriticalPathOfOneCopyIsItsModel) {
  const Machine machine = load_machine("virtual-64").value();
  const auto report = predict(plan_collective({.collective = "point-to-point", .bytes = 50'000_B, .ranks = 2}, machine),
                              machine, {.trace = true});
  ASSERT_TRUE(report) << to_string(report.error().errors.front());
  const CriticalPath path = critical_path(report->timeline);
  EXPECT_EQ(path.host.value, 600);
  EXPECT_EQ(path.schedule.value, 1000);
  EXPECT_EQ(path.copy.value, 2000);
  EXPECT_EQ(path.kernel.value, 0);
  EXPECT_EQ(path.sync.value, 1000);
  EXPECT_EQ(path.wait.value, 20);
}

TEST(SimTarget, TheCriticalPathAddsUpToTheTimeOfEveryVariant) {
  const Machine machine = load_machine("virtual-64-nmc").value();
  for (const VariantInfo& info : list_variants()) {
    for (const bool prelaunch : {false, true}) {
      for (const HostThreads host : {HostThreads::single, HostThreads::per_rank}) {
        CollectiveRequest request{.collective = info.collective, .variant = info.variant, .bytes = 96_KiB, .ranks = 6};
        request.prelaunch = prelaunch;
        request.in_place = default_in_place(info.collective, info.variant);
        request.host = host;
        auto program = plan_collective(request, machine);
        if (!program) continue;  // not every variant can be prelaunched
        const auto report = predict(std::move(program), machine, {.iterations = 3, .trace = true});
        ASSERT_TRUE(report) << to_string(report.error().errors.front());
        const Timeline& timeline = report->timeline;
        Nanoseconds sum;
        for (const Nanoseconds part : critical_path(timeline).in_order()) sum = sum + part;
        EXPECT_EQ(sum, timeline.iteration_times.back())
            << info.collective.name() << " " << info.variant << (prelaunch ? " prelaunch" : "");
      }
    }
  }
}

TEST(SimTarget, TracesHaveWattsOverTimeWhereTheMachineSaysWhatItDraws) {
  const CollectiveRequest request{.collective = "all-gather", .bytes = 1_MiB, .ranks = 2};
  const Machine machine = load_machine("mi300x-8").value();
  const auto untraced = predict(plan_collective(request, machine), machine);
  const auto report = predict(plan_collective(request, machine), machine, {.trace = true, .watts = true});
  ASSERT_TRUE(untraced && report);
  EXPECT_EQ(report->time, untraced->time);
  EXPECT_FALSE(report->timeline.spans.empty());
  ASSERT_FALSE(report->timeline.counters.empty());
  for (const Counter& counter : report->timeline.counters) {
    EXPECT_GE(counter.samples.size(), 10U) << counter.name;
    EXPECT_LE(counter.samples.size(), 502U) << counter.name;  // the first and the last may be short
  }
  const Machine without = load_machine("virtual-64").value();
  const auto plain = predict(plan_collective(request, without), without, {.trace = true, .watts = true});
  ASSERT_TRUE(plain);
  EXPECT_FALSE(plain->energy);
  EXPECT_FALSE(plain->timeline.spans.empty());
  EXPECT_TRUE(plain->timeline.counters.empty());
}

TEST(SimTarget, TellsItsStagesAndHowFarTheSimulationIs) {
  const Machine machine = load_machine("mi300x-8").value();
  auto program = plan_collective({.collective = "all-gather", .bytes = 64_KiB, .in_place = true}, machine);
  ASSERT_TRUE(program);
  std::uint64_t commands = 0;
  for (const Queue& queue : program->queues) commands += queue.commands.size();
  std::vector<Stage> stages;
  std::uint64_t last = 0;
  RunOptions options{.iterations = 100};
  options.on_stage = [&](Stage stage) { stages.push_back(stage); };
  options.sim.progress = [&](std::uint64_t done, std::uint64_t of) {
    EXPECT_GT(done, last);
    EXPECT_EQ(of, 100 * commands);
    last = done;
  };
  ASSERT_TRUE(predict(std::move(program), machine, options));
  EXPECT_EQ(stages, (std::vector{Stage::verify, Stage::run}));
  EXPECT_LE(last, 100 * commands);
  EXPECT_GT(last, 99 * commands) << "the last report is near the end";
}

TEST(SimTarget, ABadRequestFailsAtPlan) {
  const Machine machine = load_machine("mi300x-8").value();
  const auto report = predict(plan_collective({.collective = "all-gather", .ranks = 1000}, machine), machine);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().stage, Stage::plan);
}

TEST(Targets, UnknownNamesAreRefusedWithTheList) {
  const auto machine = load_machine("mi300x-8");
  ASSERT_TRUE(machine);
  const auto target = open_target({"gpu", 8, {}}, *machine);
  ASSERT_FALSE(target);
  EXPECT_EQ(target.error().code, "target.unknown");
  EXPECT_THAT(target.error().hint, HasSubstr("sim, soft, kfd"));
}

TEST(Targets, TheEmbeddedNodeHasAsManyGpusAsAskedFor) {
  const auto machine = load_machine("mi300x-8");
  ASSERT_TRUE(machine);
  const auto target = open_target({"soft", 3, {}}, *machine);
  ASSERT_TRUE(target) << to_string(target.error());
  EXPECT_EQ((*target)->driver()->topology().gpus.size(), 3U);
  const auto all = open_target({.name = "soft"}, *machine);
  ASSERT_TRUE(all) << to_string(all.error());
  EXPECT_EQ((*all)->driver()->topology().gpus.size(), 8U);
}

TEST(Targets, RealGpusTakeNoInjectedFaults) {
  const auto machine = load_machine("mi300x-8");
  ASSERT_TRUE(machine);
  TargetRequest request{"kfd", 2, {}};
  request.soft.adversarial_seed = 1;
  const auto target = open_target(request, *machine);
  ASSERT_FALSE(target);
  EXPECT_EQ(target.error().code, "device.option");
}

TEST(Targets, TheSimulatorNeedsTimingAndTakesNoFaults) {
  Machine machine = mi300x();
  TargetRequest request{.name = "sim"};
  const auto target = open_target(request, machine);
  ASSERT_TRUE(target) << to_string(target.error());
  EXPECT_TRUE((*target)->predicts());
  EXPECT_EQ((*target)->where(), "mi300x-8");
  EXPECT_EQ((*target)->driver(), nullptr);
  request.soft.adversarial_seed = 1;
  EXPECT_EQ(open_target(request, machine).error().code, "device.option");
  machine.timing.reset();
  EXPECT_EQ(open_target({.name = "sim"}, machine).error().code, "sim.timing");
}

}  // namespace target_test
}  // namespace cortado
