#include <cmath>

#include <gtest/gtest.h>

#include "pipeline/calibrate.hpp"

namespace cortado::pipeline {
namespace calibration_fit_test {

constexpr double kPacket = 9;
constexpr double kSubmit = 60;
constexpr double kFetch = 35;
constexpr double kCopy = 50;
constexpr double kSync = 80;
constexpr double kPoll = 7;
constexpr double kTrigger = 11;

/// What a node with these costs would take, everything on one thread.
CommandTimes synthetic_commands() {
  const auto submitted = [](std::uint32_t queues, std::uint32_t copies, std::uint32_t waits) {
    return kFetch + queues * (kSubmit + (copies + 1) * kPacket + copies * kCopy + kSync + waits * kPoll);
  };
  const auto prelaunched = [](std::uint32_t queues, std::uint32_t copies) {
    return kTrigger + kFetch + queues * (copies * kCopy + kSync + kPoll);
  };
  return {7,
          8,
          8,
          submitted(1, 1, 1),
          submitted(1, 8, 1),
          submitted(7, 1, 1),
          submitted(1, 1, 8),
          prelaunched(1, 1),
          prelaunched(1, 8),
          prelaunched(7, 1)};
}

/// Copies at 40 GB/s a thread from near caches of 1 MiB; 24 GB/s up to 16 MiB, 10 GB/s beyond (reads and writes).
CalibrationData synthetic() {
  CalibrationData data;
  data.commands = synthetic_commands();
  data.rate = 40;
  data.broadcast_rate = 44;
  data.threads = 2;
  data.parallel_rate = 78;
  for (Bytes touched = 512_KiB; touched <= 256_MiB; touched = touched * 2) {
    const auto size = static_cast<double>(touched.value);
    double rate = 80;
    if (touched > 1_MiB) rate = std::min(rate, 24 / (2 * (1 - (1 << 20) / size)));
    if (touched > 16_MiB) rate = std::min(rate, 10 / (2 * (1 - (16 << 20) / size)));
    data.copies.push_back({touched, touched / 2, size / 2 / rate});
  }
  return data;
}

Machine mi300x() {
  return load_machine("mi300x-8").value();
}

TEST(CalibrationFit, RecoversTheCostsOfCommands) {
  const Timing timing = fit_timing(synthetic(), mi300x());
  EXPECT_EQ(timing.host.packet.value, 9);
  EXPECT_EQ(timing.host.submit.value, 60);
  EXPECT_EQ(timing.host.poll.value, 7);
  EXPECT_EQ(timing.host.trigger.value, 11);
  EXPECT_EQ(timing.engine.fetch.value, 35);
  EXPECT_EQ(timing.engine.copy_start.value, 50);
  EXPECT_EQ(timing.engine.sync.value, 80);
}

TEST(CalibrationFit, RecoversRatesThreadsAndCaches) {
  const Timing timing = fit_timing(synthetic(), mi300x());
  EXPECT_EQ(timing.engine.rate.value, 40);
  EXPECT_EQ(timing.engine.broadcast_rate.value, 44);
  EXPECT_EQ(timing.engine.threads, 2U);  // 78 / 40
  EXPECT_EQ(timing.engine.copies_in_flight, 1U);
  ASSERT_EQ(timing.memory.node.size(), 2U);
  EXPECT_EQ(timing.memory.node[0].cache_bytes, 1_MiB);
  EXPECT_NEAR(timing.memory.node[0].rate.value, 24, 0.01);
  EXPECT_EQ(timing.memory.node[1].cache_bytes, 16_MiB);
  EXPECT_NEAR(timing.memory.node[1].rate.value, 10, 0.01);
}

TEST(CalibrationFit, ThreadsThatGainNothingDoNotCount) {
  CalibrationData data = synthetic();
  data.parallel_rate = 31;  // others use the second core
  EXPECT_EQ(fit_timing(data, mi300x()).engine.threads, 1U);
  data.parallel_rate = 200;  // more than the node has threads for
  EXPECT_EQ(fit_timing(data, mi300x()).engine.threads, 2U);
}

TEST(CalibrationFit, NoiseNeverMakesAValueThatAMachineFileRefuses) {
  CalibrationData data = synthetic();
  data.commands = {7, 8, 8, 500, 400, 300, 200, 900, 100, 50};  // more work took less time
  const Timing timing = fit_timing(data, mi300x());
  for (const Nanoseconds time : {timing.host.packet, timing.host.submit, timing.host.poll, timing.host.trigger,
                                 timing.engine.fetch, timing.engine.copy_start, timing.engine.sync}) {
    EXPECT_GE(time.value, 1);
  }
}

}  // namespace calibration_fit_test
}  // namespace cortado::pipeline
