#include "cortado/pipeline/simulate.hpp"

#include <gtest/gtest.h>

#include "cortado/pipeline/run.hpp"
#include "cortado/timeline/critical_path.hpp"

namespace cortado::pipeline {
namespace simulate_test {

sim::SimulateOptions traced(std::uint32_t iterations) {
  sim::SimulateOptions options;
  options.iterations = iterations;
  options.trace = true;
  return options;
}

/// virtual-64: packet 50, submit 500, fetch, copy_start and sync 1000, poll 20 ns; 50 bytes a nanosecond.
TEST(SimulatePipeline, TheCriticalPathOfOneCopyIsItsModel) {
  const Machine machine = load_machine("virtual-64").value();
  const auto report =
      simulate_collective({.collective = "point-to-point", .bytes = 50'000_B, .ranks = 2}, machine, traced(1));
  ASSERT_TRUE(report) << to_string(report.error().errors.front());
  const CriticalPath path = critical_path(report->simulated.timeline);
  EXPECT_EQ(path.host.value, 600);
  EXPECT_EQ(path.schedule.value, 1000);
  EXPECT_EQ(path.copy.value, 2000);
  EXPECT_EQ(path.kernel.value, 0);
  EXPECT_EQ(path.sync.value, 1000);
  EXPECT_EQ(path.wait.value, 20);
}

TEST(SimulatePipeline, TheCriticalPathAddsUpToTheTimeOfEveryVariant) {
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
        const auto report = simulate_program(*std::move(program), machine, traced(3));
        ASSERT_TRUE(report) << to_string(report.error().errors.front());
        const Timeline& timeline = report->simulated.timeline;
        Nanoseconds sum;
        for (const Nanoseconds part : critical_path(timeline).in_order()) sum = sum + part;
        EXPECT_EQ(sum, timeline.iteration_times.back())
            << info.collective.name() << " " << info.variant << (prelaunch ? " prelaunch" : "");
      }
    }
  }
}

TEST(SimulatePipeline, TracesHaveWattsOverTimeWhereTheMachineSaysWhatItDraws) {
  const CollectiveRequest request{.collective = "all-gather", .bytes = 1_MiB, .ranks = 2};
  const Machine machine = load_machine("mi300x-8").value();
  const auto untraced = simulate_collective(request, machine);
  const auto report = simulate_traced(plan_collective(request, machine).value(), machine);
  ASSERT_TRUE(untraced && report);
  EXPECT_EQ(report->time, untraced->time);
  EXPECT_FALSE(report->simulated.timeline.spans.empty());
  ASSERT_FALSE(report->simulated.timeline.counters.empty());
  for (const Counter& counter : report->simulated.timeline.counters) {
    EXPECT_GE(counter.samples.size(), 10U) << counter.name;
    EXPECT_LE(counter.samples.size(), 502U) << counter.name;  // the first and the last may be short
  }
  const Machine without = load_machine("virtual-64").value();
  const auto plain = simulate_traced(plan_collective(request, without).value(), without);
  ASSERT_TRUE(plain);
  EXPECT_FALSE(plain->energy);
  EXPECT_FALSE(plain->simulated.timeline.spans.empty());
  EXPECT_TRUE(plain->simulated.timeline.counters.empty());
}

TEST(SimulatePipeline, TellsItsStagesAndHowFarTheSimulationIs) {
  const Machine machine = load_machine("mi300x-8").value();
  auto program = plan_collective({.collective = "all-gather", .bytes = 64_KiB, .in_place = true}, machine);
  ASSERT_TRUE(program);
  std::uint64_t commands = 0;
  for (const Queue& queue : program->queues) commands += queue.commands.size();
  std::vector<Stage> stages;
  std::uint64_t last = 0;
  sim::SimulateOptions options;
  options.iterations = 100;
  options.progress = [&](std::uint64_t done, std::uint64_t of) {
    EXPECT_GT(done, last);
    EXPECT_EQ(of, 100 * commands);
    last = done;
  };
  ASSERT_TRUE(
      simulate_program(*std::move(program), machine, options, {}, [&](Stage stage) { stages.push_back(stage); }));
  EXPECT_EQ(stages, (std::vector{Stage::verify, Stage::run}));
  EXPECT_LE(last, 100 * commands);
  EXPECT_GT(last, 99 * commands) << "the last report is near the end";
}

TEST(SimulatePipeline, ABadRequestFailsAtPlan) {
  const auto report =
      simulate_collective({.collective = "all-gather", .variant = "pcyp"}, load_machine("mi300x-8").value());
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().stage, Stage::plan);
}

}  // namespace simulate_test
}  // namespace cortado::pipeline
