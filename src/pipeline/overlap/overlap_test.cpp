#include "cortado/pipeline/overlap.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cortado/pipeline/devices.hpp"
#include "cortado/pipeline/simulate.hpp"

#include "pipeline/overlap/study.hpp"

namespace cortado::pipeline {
namespace overlap_test {

using testing::ElementsAre;
using testing::HasSubstr;

Machine machine_of(const std::string& name) {
  auto machine = load_machine(name);
  EXPECT_TRUE(machine) << to_string(machine.error());
  return *machine;
}

OverlapRequest small_request(Collective collective = "all-gather", DType dtype = DType::bf16) {
  OverlapRequest request;
  request.gemm = {64, 64, 64, dtype};
  request.collective.collective = collective;
  request.collective.bytes = 64_KiB;
  request.collective.in_place = default_in_place(collective, "pcpy");
  return request;
}

std::vector<std::string> policies_of(const report::OverlapReport& report) {
  std::vector<std::string> names;
  for (const report::OverlapRow& row : report.rows) names.push_back(row.policy);
  return names;
}

// 15 % longer is still equal, and more is not: 1.15 x 1,000,000 = 1,150,000.
TEST(OverlapClass, FifteenPercentMakeTheDifference) {
  EXPECT_EQ(overlap_class({1'150'000}, {1'000'000}), "GC-equal");
  EXPECT_EQ(overlap_class({1'150'001}, {1'000'000}), "G-long");
  EXPECT_EQ(overlap_class({1'000'000}, {1'150'000}), "GC-equal");
  EXPECT_EQ(overlap_class({1'000'000}, {1'150'001}), "C-long");
  EXPECT_EQ(overlap_class({1'000}, {1'000}), "GC-equal");
}

/// Times that a program would have: the product 60 us, the collective 40 us, 100 us in a row, on DMA engines 75 us.
Outcome<OverlapTimes> invented_times(const VerifiedProgram& program) {
  const std::vector<Queue>& queues = program.program().queues;
  const bool product = std::any_of(queues.begin(), queues.end(), is_product_queue);
  const auto moves = [](const Queue& queue) { return queue.kind != QueueKind::host && !is_product_queue(queue); };
  const bool collective = std::any_of(queues.begin(), queues.end(), moves);
  const bool engines =
      std::any_of(queues.begin(), queues.end(), [](const Queue& queue) { return queue.kind == QueueKind::dma; });
  if (!collective) return OverlapTimes{{60'000}, {60'000}, {}};
  if (!product) return OverlapTimes{{40'000}, {}, {40'000}};
  if (engines) return OverlapTimes{{75'000}, {75'000}, {50'000}};
  return OverlapTimes{{100'000}, {60'000}, {100'000}};
}

TEST(Overlap, RowsFollowFromTheTimes) {
  OverlapOptions options;
  options.policies = {"serial", "conccl"};
  const auto report = study_overlap(small_request(), machine_of("mi300x-8"), options, Times::simulated, invented_times);
  ASSERT_TRUE(report) << to_string(report.error().errors.front());
  EXPECT_EQ(report->gemm_alone.value, 60'000);
  EXPECT_EQ(report->comm_alone.value, 40'000);
  EXPECT_EQ(report->serial.value, 100'000);
  EXPECT_EQ(report->ideal.value, 60'000);
  EXPECT_EQ(report->scenario, "G-long");
  EXPECT_EQ(report->ranks, 8U);
  EXPECT_TRUE(report->memory_bound);  // 2 x 64^3 operations over 3 x 64 x 64 x 2 bytes: 21 a byte
  ASSERT_THAT(policies_of(*report), ElementsAre("serial", "conccl"));
  const report::OverlapRow& serial = report->rows[0];
  EXPECT_DOUBLE_EQ(serial.speedup, 1);
  EXPECT_DOUBLE_EQ(serial.share_of_ideal, 0);
  EXPECT_DOUBLE_EQ(serial.gemm_slowdown, 1);
  EXPECT_DOUBLE_EQ(serial.comm_slowdown, 1);  // 100 - 60 of 40
  const report::OverlapRow& conccl = report->rows[1];
  EXPECT_DOUBLE_EQ(conccl.speedup, 100.0 / 75);
  EXPECT_NEAR(conccl.share_of_ideal, 0.5, 1e-12);  // (4/3 - 1) / (5/3 - 1)
  EXPECT_DOUBLE_EQ(conccl.gemm_slowdown, 1.25);
  EXPECT_DOUBLE_EQ(conccl.comm_slowdown, 1.25);
  EXPECT_EQ(conccl.gemm_units, 304U);
  EXPECT_EQ(conccl.comm_units, 0U);
  EXPECT_EQ(report->choice, "conccl");
  EXPECT_EQ(report->chosen().collective.variant, "pcpy");
  EXPECT_EQ(report->reason,
            "the product ends last, and 50 % of ideal is reached (product +25 %, collective +25 % over alone)");
}

TEST(Overlap, ReasonNamesWhatTheOtherKindLoses) {
  report::OverlapReport report;
  report.simulated = true;
  report.gemm_alone = {40'000};
  report.comm_alone = {60'000};
  report.serial = {100'000};
  report.choice = "conccl";
  report::OverlapRow kernels;
  kernels.policy = "c3-sp";
  kernels.time = {90'000};
  kernels.comm_units = 64;
  kernels.gemm_slowdown = 1.5;
  kernels.comm_slowdown = 1;
  report::OverlapRow engines;
  engines.policy = "conccl";
  engines.time = {60'000};
  engines.share_of_ideal = 1;
  engines.gemm = {45'000};
  engines.comm = {60'000};
  engines.gemm_slowdown = 1.001;
  engines.comm_slowdown = 0.8;
  report.rows = {kernels, engines};
  EXPECT_EQ(overlap_reason(report),
            "the collective ends last, and 100 % of ideal is reached (product +0 %, collective -20 % over "
            "alone); c3-sp takes 50 % longer, as its kernels share compute units and caches with the product (product "
            "+50 %, collective +0 %)");
}

TEST(Overlap, ReasonSaysWhereThereIsNothingToGain) {
  report::OverlapReport report;
  report.gemm_alone = {100'000};
  report.comm_alone = {2'000};
  report.serial = {100'000};
  report.ideal = {100'000};
  report.choice = "conccl";
  report::OverlapRow row;
  row.policy = "conccl";
  row.time = {99'000};
  report.rows = {row};
  EXPECT_EQ(overlap_reason(report),
            "there is nothing to gain: one after the other takes no longer than the product alone");
}

/// The invented times, with 3 J in a row and 3.8 J on DMA engines: 300 and 285 uJs.
Outcome<OverlapTimes> invented_times_and_energy(const VerifiedProgram& program) {
  auto times = invented_times(program);
  times->energy = EnergyUse{.energy = {}, .seconds = microseconds(times->time) * 1e-6, .gpus = 8};
  times->energy->energy[EnergyPart::rest_idle] = times->time == Nanoseconds{75'000} ? 3.8 : 3;
  return times;
}

TEST(Overlap, TheObjectiveDecides) {
  const Machine machine = machine_of("mi300x-8");
  using report::Objective;
  for (const auto& [objective, choice] : {std::pair{Objective::time, "conccl"}, std::pair{Objective::energy, "serial"},
                                          std::pair{Objective::edp, "conccl"}}) {
    OverlapOptions options;
    options.policies = {"serial", "conccl", "auto"};
    options.objective = objective;
    const auto report = study_overlap(small_request(), machine, options, Times::simulated, invented_times_and_energy);
    ASSERT_TRUE(report) << to_string(report.error().errors.front());
    EXPECT_EQ(report->objective, objective);
    EXPECT_EQ(report->choice, choice);
    // What the others do is known, so auto does as the best of them.
    EXPECT_EQ(report->row("auto")->time, report->row(choice)->time);
    EXPECT_EQ(report->reason.find("it takes the least energy, 3.000 J in 100.0 us, 3750.0 W a GPU") == 0,
              objective == Objective::energy)
        << report->reason;
  }
}

TEST(Overlap, NoResultDependsOnTheNumberOfThreads) {
  const Machine machine = machine_of("mi300x-8");
  std::vector<std::string> documents;
  for (const std::uint32_t threads : {1U, 2U, 7U}) {
    OverlapOptions options;
    options.threads = threads;
    const auto report = simulate_overlap(small_request(), machine, options);
    ASSERT_TRUE(report) << to_string(report.error().errors.front());
    documents.push_back(report::overlap_json(*report));
  }
  EXPECT_EQ(documents[0], documents[1]);
  EXPECT_EQ(documents[0], documents[2]);
}

TEST(Overlap, AutoIsNeverWorseThanAnyOther) {
  const Machine machine = machine_of("mi300x-8");
  for (const Collective collective : {Collective("all-gather"), Collective("all-to-all")}) {
    const auto report = simulate_overlap(small_request(collective), machine);
    ASSERT_TRUE(report) << to_string(report.error().errors.front());
    for (const report::OverlapRow& row : report->rows) EXPECT_LE(report->row("auto")->time, row.time) << row.policy;
  }
}

// Where the fast model alone would take the wrong way.
TEST(Overlap, AutoIsConfirmedByTheSimulator) {
  struct Case {
    const char* machine;
    Collective collective;
    Bytes bytes;
    GemmShape shape;
  };
  for (const auto& [name, collective, bytes, shape] : {Case{"mi300x-8", "all-to-all", 896_MiB, {8192, 57344, 8192}},
                                                       Case{"mi300x-8", "all-gather", 4_MiB, {2048, 2048, 2048}},
                                                       Case{"mi355x-8", "all-reduce", 64_KiB, {512, 16384, 2048}},
                                                       Case{"h100-8", "all-gather", 504_MiB, {8192, 8192, 8192}}}) {
    const Machine machine = machine_of(name);
    OverlapRequest request = small_request(collective);
    request.gemm = shape;
    request.collective.bytes = bytes;
    const auto all = simulate_overlap(request, machine);
    ASSERT_TRUE(all) << to_string(all.error().errors.front());
    for (const report::OverlapRow& row : all->rows) EXPECT_LE(all->row("auto")->time, row.time) << row.policy;
    OverlapOptions options;
    options.policies = {"auto"};
    const auto alone = simulate_overlap(request, machine, options);
    ASSERT_TRUE(alone) << to_string(alone.error().errors.front());
    ASSERT_THAT(policies_of(*alone), ElementsAre("auto"));
    EXPECT_EQ(alone->rows[0].time, all->row("auto")->time);
    EXPECT_EQ(alone->ways.size(), 1U);
  }
}

TEST(Overlap, WhatCannotBeDoneIsListedWithTheReason) {
  const Machine machine = machine_of("mi300x-8");
  const auto adds = simulate_overlap(small_request("all-reduce"), machine);
  ASSERT_TRUE(adds) << to_string(adds.error().errors.front());
  EXPECT_THAT(policies_of(*adds), ElementsAre("serial", "c3", "c3-sp", "c3-rp", "c3-sp-rp", "auto"));
  ASSERT_EQ(adds->skipped.size(), 2U);
  EXPECT_EQ(adds->skipped[0].name, "conccl");
  EXPECT_EQ(adds->skipped[0].reason.code, "c3.variant");

  OverlapOptions options;
  options.policies = {"conccl"};
  const auto nothing = simulate_overlap(small_request("all-reduce"), machine, options);
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().errors.front().code, "c3.variant");
}

TEST(Overlap, UnitsOfTheUserReplaceThoseOfThePolicy) {
  OverlapOptions options;
  options.policies = {"serial", "c3-rp", "conccl"};
  options.gemm_units = 200;
  options.comm_units = 40;
  const auto report = simulate_overlap(small_request(), machine_of("mi300x-8"), options);
  ASSERT_TRUE(report) << to_string(report.error().errors.front());
  EXPECT_EQ(report->rows[0].gemm_units, 304U);  // the measure of the others
  EXPECT_EQ(report->rows[1].gemm_units, 200U);
  EXPECT_EQ(report->rows[1].comm_units, 40U);
  EXPECT_EQ(report->rows[2].gemm_units, 200U);
  EXPECT_EQ(report->rows[2].comm_units, 0U);
}

TEST(Overlap, RefusesWhatCannotBe) {
  const Machine machine = machine_of("mi300x-8");
  const auto code = [&](const OverlapRequest& request, const OverlapOptions& options = {}) {
    const auto report = simulate_overlap(request, machine, options);
    return report ? std::string("accepted") : report.error().errors.front().code;
  };
  OverlapRequest request = small_request();
  request.gemm.m = 0;
  EXPECT_EQ(code(request), "gemm.shape");
  request = small_request();
  request.gemm = {1 << 20, 1 << 20, 1 << 20, DType::bf16};
  EXPECT_EQ(code(request), "gemm.memory");
  request = small_request();
  request.gemm.dtype = DType::i32;
  EXPECT_EQ(code(request), "gemm.dtype");
  request = small_request();
  request.collective.ranks = 1;
  EXPECT_EQ(code(request), "c3.ranks");
  for (const std::uint32_t units : {0U, 305U}) {
    OverlapOptions options;
    options.gemm_units = units;
    EXPECT_EQ(code(small_request(), options), "c3.compute_units") << units;
    options = {};
    options.comm_units = units;
    EXPECT_EQ(code(small_request(), options), "c3.compute_units") << units;
  }
  OverlapOptions unknown;
  unknown.policies = {"serial", "concl"};
  EXPECT_EQ(code(small_request(), unknown), "c3.policy");
  OverlapOptions stopped;
  stopped.progress = [](std::size_t, std::size_t) { return false; };
  EXPECT_EQ(code(small_request(), stopped), "overlap.interrupted");
}

TEST(Overlap, ProgramsOfAllPoliciesReallyRun) {
  Machine machine = machine_of("mi300x-8");
  RunSettings settings;
  settings.run.iterations = 2;
  settings.run.check = device::CheckOutputs::every;
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const bool adversarial : {false, true}) {
      DeviceRequest device{"soft", 4, {}};
      settings.run.adversarial_seed.reset();
      if (adversarial) settings.run.adversarial_seed = device.soft.adversarial_seed = 5;
      const auto driver = open_device(device, machine);
      ASSERT_TRUE(driver) << to_string(driver.error());
      OverlapRequest request = small_request("all-gather", dtype);
      request.collective.ranks = 4;
      const auto report = run_overlap(request, machine, **driver, settings);
      ASSERT_TRUE(report) << to_string(report.error().errors.front());
      EXPECT_EQ(report->rows.size(), 8U);
      EXPECT_FALSE(report->simulated);
      EXPECT_EQ(report->iterations, 3U);  // three rounds of 2 / 3, rounded up
      EXPECT_THAT(report->where, HasSubstr("embedded node"));
      EXPECT_THAT(report->note, HasSubstr("no effect"));
      for (const report::OverlapRow& row : report->rows) {
        EXPECT_EQ(row.wrong, 0U) << row.policy;
        EXPECT_FALSE(row.hbm_bytes) << row.policy;
        EXPECT_GT(row.time.value, 0) << row.policy;
        EXPECT_GT(row.gemm.value, 0) << row.policy;
        EXPECT_GT(row.comm.value, 0) << row.policy;
      }
    }
  }
}

TEST(Overlap, WhatDoesNotFitThisComputerIsRefusedBeforeItRuns) {
  const Machine machine = machine_of("mi300x-8");
  const auto driver = open_device({"soft", 2, {}}, machine);
  ASSERT_TRUE(driver) << to_string(driver.error());
  OverlapRequest request = small_request();
  request.gemm = {131072, 131072, 131072, DType::f16};  // three matrices of 32 GiB, which an MI300X holds
  request.collective.ranks = 8;
  const auto report = run_overlap(request, machine, **driver, {});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().errors.front().code, "overlap.memory");
  EXPECT_THAT(report.error().errors.front().message, HasSubstr("768.0 GiB"));
}

TEST(OverlapCost, ProductsAloneAgreeWithTheirSimulation) {
  const Machine machine = machine_of("mi300x-8");
  const auto cost = simulated_overlap_cost(machine);
  for (const GemmShape& shape : {GemmShape{8192, 8192, 8192}, GemmShape{64, 57344, 8192}}) {
    for (const std::uint32_t units : {304U, 240U}) {
      auto program = plan_product(shape, {.count = units}, 1, machine);
      ASSERT_TRUE(program) << to_string(program.error());
      const auto simulated = simulate_program(*std::move(program), machine);
      ASSERT_TRUE(simulated) << to_string(simulated.error().errors.front());
      const auto estimated = cost->gemm(shape, units);
      ASSERT_TRUE(estimated);
      EXPECT_NEAR(microseconds(*estimated) / microseconds(simulated->time), 1, 0.05) << to_string(shape) << units;
    }
  }
}

}  // namespace overlap_test
}  // namespace cortado::pipeline
