#include "pipeline/calibrate.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "cortado/plan.hpp"
#include "cortado/target.hpp"

#include "machine/write.hpp"
#include "pipeline/calibration_program.hpp"

namespace cortado::pipeline {
namespace calibrate_test {

/// Quick and inexact: no test depends on a measured value.
CalibrateOptions quick() {
  CalibrateOptions options;
  options.workers = 0;
  options.rounds = 1;
  options.largest = 2_MiB;
  return options;
}

TEST(Calibrate, MakesAMachineThatCanBeWrittenReadAndSimulated) {
  const Machine base = load_machine("mi300x-8").value();
  CalibrateOptions options = quick();
  std::uint32_t last = 0;
  std::uint32_t total = 0;
  options.progress = [&](std::uint32_t done, std::uint32_t of) {
    EXPECT_EQ(done, last + 1);
    last = done;
    total = of;
    return true;
  };
  const auto machine = calibrate(base, options);
  ASSERT_TRUE(machine) << to_string(machine.error().errors.front());
  EXPECT_EQ(last, total);
  EXPECT_EQ(machine->name, "mi300x-8-soft");
  EXPECT_EQ(machine->affinity, base.affinity);
  EXPECT_EQ(machine->timing->engine.threads, 1U);  // no workers
  EXPECT_FALSE(machine->timing->memory.node.empty());
  EXPECT_TRUE(base.power);
  EXPECT_FALSE(machine->power);
  const auto fact = std::find_if(machine->provenance.begin(), machine->provenance.end(),
                                 [](const Provenance& one) { return one.key == "host.submit_ns"; });
  ASSERT_NE(fact, machine->provenance.end());
  EXPECT_EQ(fact->source, "measured on this computer by cortado calibrate");
  const auto again = parse_machine(machine_text(*machine), "again.toml");
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_EQ(machine_text(*again), machine_text(*machine));

  const auto report =
      predict(plan_collective({.collective = "all-gather", .bytes = 64_KiB, .in_place = true}, *again), *again);
  ASSERT_TRUE(report) << to_string(report.error().errors.front());
  EXPECT_GT(report->time.value, 0);
}

TEST(Calibrate, OnlyACalibratedMachineIsTheEmbeddedNode) {
  Machine machine = load_machine("mi300x-8").value();
  const Status refused = check_calibrated(machine);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "compare.machine");
  machine.timing->engine.threads = 1;
  EXPECT_TRUE(check_calibrated(machine));
  machine.timing.reset();
  EXPECT_FALSE(check_calibrated(machine));
}

TEST(Calibrate, EveryMachineGivesAShape) {
  CalibrateOptions options = quick();
  options.largest = 512_KiB;
  for (const std::string& name : machine_names()) {
    const Machine base = load_machine(name).value();
    if (base.gpus < 3) continue;
    const auto machine = calibrate(base, options);
    ASSERT_TRUE(machine) << name << ": " << to_string(machine.error().errors.front());
    for (const Provenance& fact : machine->provenance) EXPECT_NE(fact.source, "not given") << name << " " << fact.key;
  }
}

TEST(Calibrate, WhatIsNotMeasuredKeepsItsSource) {
  const Machine base = load_machine("mi250x-8").value();
  const Machine machine = calibrate(base, quick()).value();
  const auto source = [](const Machine& of, std::string_view key) {
    const auto fact = std::find_if(of.provenance.begin(), of.provenance.end(),
                                   [key](const Provenance& one) { return one.key == key; });
    return fact == of.provenance.end() ? std::string("none") : fact->source;
  };
  for (const char* kept : {"links.topology", "links.counts", "dma.max_copy_bytes"}) {
    EXPECT_EQ(source(machine, kept), source(base, kept)) << kept;
  }
  EXPECT_EQ(source(machine, "host.signal_ns"), "as host.trigger_ns");
  EXPECT_EQ(source(machine, "links.latency_ns"), "the embedded node has no links; never the bottleneck");
}

TEST(Calibrate, StopsWhenToldTo) {
  CalibrateOptions options = quick();
  std::uint32_t last = 0;
  options.progress = [&](std::uint32_t done, std::uint32_t) {
    last = done;
    return done < 2;
  };
  const auto result = calibrate(load_machine("mi300x-8").value(), options);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().errors.front().code, "calibrate.interrupted");
  EXPECT_EQ(last, 2U);
}

TEST(Calibrate, RefusesSizesBeforeItMeasures) {
  CalibrateOptions options = quick();
  options.progress = [](std::uint32_t, std::uint32_t) {
    ADD_FAILURE() << "measured";
    return false;
  };
  const auto code = [&](const Machine& machine, Bytes largest) {
    options.largest = largest;
    const auto result = calibrate(machine, options);
    return result ? std::string() : result.error().errors.front().code;
  };
  const Machine machine = load_machine("mi300x-8").value();
  EXPECT_EQ(code(machine, 256_KiB), "calibrate.largest");
  EXPECT_EQ(code(machine, 4_GiB + 1_B), "calibrate.largest");
  Machine little_memory = machine;
  little_memory.memory_bytes = 1_MiB;
  EXPECT_EQ(code(little_memory, 2_MiB), "calibrate.largest");
  Machine short_copies = machine;
  short_copies.dma.max_copy_bytes = 32_KiB;  // 7 queues of 4 copies touch 1.75 MiB
  EXPECT_EQ(code(short_copies, 2_MiB), "calibrate.largest");
}

TEST(Calibrate, NeedsThreeGpus) {
  Machine machine = load_machine("mi300x-8").value();
  machine.gpus = 2;
  const auto result = calibrate(machine, quick());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().errors.front().code, "calibrate.gpus");
}

TEST(CalibrationProgram, RoutesFollowTheLinks) {
  const auto routes = calibration_routes(load_machine("mi250x-8").value(), 2);
  ASSERT_EQ(routes.size(), 8U);
  EXPECT_EQ(routes[1].to, (std::vector<RankId>{RankId{3}, RankId{5}}));  // linked to 0, 3 and 5
  EXPECT_EQ(routes[7].to, (std::vector<RankId>{RankId{3}, RankId{5}}));  // linked to 3, 5 and 6
}

TEST(CalibrationProgram, IsProved) {
  const Machine machine = load_machine("mi300x-8").value();
  for (const bool prelaunch : {false, true}) {
    for (const bool broadcast : {false, true}) {
      const CalibrationProgram shape{
          .queues = 2, .copies = 3, .bytes = 128_B, .waits = 2, .prelaunch = prelaunch, .broadcast = broadcast};
      const auto verified = verify(make_calibration_program(shape, machine), machine);
      EXPECT_TRUE(verified) << to_string(verified.error().front());
    }
  }
}

}  // namespace calibrate_test
}  // namespace cortado::pipeline
