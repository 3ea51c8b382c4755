#include "cortado/pipeline/calibrate.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "cortado/machine/write.hpp"
#include "cortado/pipeline/simulate.hpp"
#include "cortado/verify/verify.hpp"

#include "pipeline/calibration_program.hpp"

namespace cortado::pipeline {
namespace {

/// Quick, and not exact: what is measured never decides a test.
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
  };
  const auto machine = calibrate(base, options);
  ASSERT_TRUE(machine) << to_string(machine.error().errors.front());
  EXPECT_EQ(last, total);
  EXPECT_EQ(machine->name, "mi300x-8-soft");
  EXPECT_EQ(machine->affinity, base.affinity);
  EXPECT_EQ(machine->timing->engine.threads, 1U);  // no workers
  EXPECT_FALSE(machine->timing->memory.node.empty());
  const auto fact = std::find_if(machine->provenance.begin(), machine->provenance.end(),
                                 [](const Provenance& one) { return one.key == "host.submit_ns"; });
  ASSERT_NE(fact, machine->provenance.end());
  EXPECT_EQ(fact->source, "measured on this computer by cortado calibrate");
  const auto again = parse_machine(machine_text(*machine), "again.toml");
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_EQ(machine_text(*again), machine_text(*machine));

  const auto report = simulate_collective({.collective = "all-gather", .bytes = 64_KiB, .in_place = true}, *again);
  ASSERT_TRUE(report) << to_string(report.error().errors.front());
  EXPECT_GT(report->time.value, 0);
}

TEST(Calibrate, MachinesWithoutBroadcastOrSwitchesWork) {
  for (const char* name : {"h100-8", "t3-ring-16"}) {
    const auto machine = calibrate(load_machine(name).value(), quick());
    ASSERT_TRUE(machine) << name << ": " << to_string(machine.error().errors.front());
  }
}

TEST(Calibrate, NeedsThreeGpus) {
  Machine machine = load_machine("mi300x-8").value();
  machine.gpus = 2;
  const auto result = calibrate(machine, quick());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().errors.front().code, "calibrate.gpus");
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

}  // namespace
}  // namespace cortado::pipeline
