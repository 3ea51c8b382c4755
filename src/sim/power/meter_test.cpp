#include "sim/power/meter.hpp"

#include <gtest/gtest.h>

#include "sim/power/testing.hpp"

namespace cortado::sim {
namespace meter_test {

constexpr SimTime kSecond{1'000'000'000'000};
constexpr SimTime seconds(double s) {
  return {static_cast<std::int64_t>(s * 1e12)};
}

TEST(PowerMeter, AnIdleGpuDrawsItsIdlePower) {
  const Power power = small_power();
  PowerMeter meter(power, 2, std::nullopt);
  const Energy energy = meter.joules(kSecond);
  EXPECT_DOUBLE_EQ(energy.of(Component::xcd), 2 * 20);
  EXPECT_DOUBLE_EQ(energy.of(Component::iod), 2 * 30);
  EXPECT_DOUBLE_EQ(energy.of(Component::hbm), 2 * 5);
  EXPECT_DOUBLE_EQ(energy.of(Component::rest), 2 * (10 + 5.5));
  EXPECT_DOUBLE_EQ(energy.total(), 2 * power.idle_w());
}

TEST(PowerMeter, AFlowDrawsAtBothItsEndsAndWakesThem) {
  const Power power = small_power();
  PowerMeter meter(power, 3, std::nullopt);
  const std::vector<Draw> draws{{0, EnergyPart::iod_links, 2e-9}, {1, EnergyPart::hbm_bytes, 5e-9}};
  meter.begin_flow({0}, draws, {});
  meter.set_rate({0}, 1e9, {});
  meter.set_rate({0}, 3e9, kSecond);
  meter.end_flow({0}, 0, seconds(2));
  const Energy first = meter.joules(0, seconds(3));
  const Energy second = meter.joules(1, seconds(3));
  EXPECT_DOUBLE_EQ(first[EnergyPart::iod_links], (1e9 + 3e9) * 2e-9);
  EXPECT_DOUBLE_EQ(first[EnergyPart::iod_clock], 2 * 24);
  EXPECT_DOUBLE_EQ(first[EnergyPart::hbm_leakage], 2 * 2);
  EXPECT_EQ(first[EnergyPart::xcd_clock], 0);
  EXPECT_DOUBLE_EQ(second[EnergyPart::hbm_bytes], (1e9 + 3e9) * 5e-9);
  EXPECT_EQ(meter.joules(2, seconds(3))[EnergyPart::iod_clock], 0);
}

TEST(PowerMeter, WhatRoundingLeftOfAFlowIsCounted) {
  const Power power = small_power();
  PowerMeter meter(power, 1, std::nullopt);
  const std::vector<Draw> draws{{0, EnergyPart::iod_engines, 1}};
  meter.begin_flow({0}, draws, {});
  meter.set_rate({0}, 3, {});
  meter.end_flow({0}, -0.25, kSecond);  // its end was rounded up by a twelfth of a second
  EXPECT_DOUBLE_EQ(meter.joules(kSecond)[EnergyPart::iod_engines], 2.75);
}

TEST(PowerMeter, UnitsPollingAndEventsCount) {
  const Power power = small_power();
  PowerMeter meter(power, 1, std::nullopt);
  meter.hold_units(0, 100, {});
  meter.poll(0, 2, {});
  meter.spend(0, EnergyPart::iod_packets, 0.25, kSecond);
  meter.hold_units(0, -100, kSecond);
  meter.poll(0, -1, kSecond);
  const Energy energy = meter.joules(seconds(2));
  EXPECT_DOUBLE_EQ(energy[EnergyPart::xcd_units], 50);
  EXPECT_DOUBLE_EQ(energy[EnergyPart::xcd_leakage], 16);
  EXPECT_DOUBLE_EQ(energy[EnergyPart::iod_polling], 2 * 3 + 3);
  EXPECT_DOUBLE_EQ(energy[EnergyPart::iod_packets], 0.25);
}

TEST(PowerMeter, FollowsClocks) {
  const Power power = small_power();
  PowerMeter meter(power, 1, std::nullopt);
  const std::vector<Draw> draws{
      {0, EnergyPart::xcd_products, 1}, {0, EnergyPart::iod_cache, 1}, {0, EnergyPart::iod_links, 1}};
  meter.begin_flow({0}, draws, {});
  meter.set_rate({0}, 8, {});
  meter.hold_units(0, 10, {});
  meter.set_clocks(0, {.xcd = 1, .iod = 0.75, .hbm = 0.5}, {});  // half the voltage of xcd and iod, as high of hbm
  const Energy energy = meter.joules(kSecond);
  EXPECT_DOUBLE_EQ(energy[EnergyPart::xcd_idle], 20);
  EXPECT_DOUBLE_EQ(energy[EnergyPart::xcd_leakage], 16.0 / 8);
  EXPECT_DOUBLE_EQ(energy[EnergyPart::xcd_clock], 40.0 / 4 / 2);
  EXPECT_DOUBLE_EQ(energy[EnergyPart::xcd_units], 5.0 / 4 / 2);
  EXPECT_DOUBLE_EQ(energy[EnergyPart::xcd_products], 8.0 / 4);
  EXPECT_DOUBLE_EQ(energy[EnergyPart::iod_cache], 8.0 / 4);
  EXPECT_DOUBLE_EQ(energy[EnergyPart::iod_links], 8);
  EXPECT_DOUBLE_EQ(energy[EnergyPart::hbm_clock], 2);
}

TEST(PowerMeter, SamplesAddUpToTheEnergy) {
  const Power power = small_power();
  PowerMeter meter(power, 1, seconds(0.3));
  const std::vector<Draw> draws{{0, EnergyPart::hbm_bytes, 1}};
  meter.begin_flow({0}, draws, {});
  meter.set_rate({0}, 100, seconds(0.5));
  meter.end_flow({0}, 0, seconds(0.7));
  const std::vector<Counter> counters = meter.counters(kSecond);
  ASSERT_EQ(counters.size(), 4U);
  EXPECT_EQ(counters[2].name, "gpu 0 hbm");
  ASSERT_EQ(counters[2].samples.size(), 4U);
  double joules = 0;
  for (const Counter& counter : counters) {
    for (std::size_t i = 0; i < counter.samples.size(); ++i) joules += counter.samples[i].value * (i < 3 ? 0.3 : 0.1);
  }
  EXPECT_NEAR(joules, meter.joules(kSecond).total(), 1e-4);
  // 0.3 to 0.6: awake and idle throughout, 100 W of bytes for a third of it.
  EXPECT_NEAR(counters[2].samples[1].value, 5 + 2 + 4 + 100.0 / 3, 1e-4);
  EXPECT_EQ(counters[2].samples[1].time.value, 300'000'000);
}

}  // namespace meter_test
}  // namespace cortado::sim
