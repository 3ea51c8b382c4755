#include "sim/kernel/time.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace cortado::sim {
namespace time_test {

TEST(SimTime, NanosecondsAreExactOneWayAndRoundedTheOther) {
  EXPECT_EQ(to_sim_time(Nanoseconds{7}), SimTime{7000});
  EXPECT_EQ(to_nanoseconds(SimTime{7000}), Nanoseconds{7});
  EXPECT_EQ(to_nanoseconds(SimTime{7499}), Nanoseconds{7});
  EXPECT_EQ(to_nanoseconds(SimTime{7500}), Nanoseconds{8});
  EXPECT_EQ(to_nanoseconds(SimTime{-1}), Nanoseconds{0});
  EXPECT_EQ(to_nanoseconds(SimTime{-500}), Nanoseconds{0});
  EXPECT_EQ(to_nanoseconds(SimTime{-501}), Nanoseconds{-1});
}

// 1 MiB at 50 GB/s: 1048576 / 50e9 s = 20.97152 us = 20971520 ps exactly; one byte more takes 20 ps more.
TEST(SimTime, DurationsOfTransfersAreRoundedUp) {
  EXPECT_EQ(sim_time_from_seconds(1048576.0 / 50e9), SimTime{20971520});
  EXPECT_EQ(sim_time_from_seconds(1048577.0 / 50e9), SimTime{20971540});
  EXPECT_EQ(sim_time_from_seconds(0.0), SimTime{0});
  EXPECT_EQ(sim_time_from_seconds(1.0 / 3e12), SimTime{1});  // a third of a picosecond
}

// The same sum in another order is one bit above 20 us, which is not a picosecond more.
TEST(SimTime, RoundingOfTheSecondsIsNotRoundedUp) {
  EXPECT_EQ(sim_time_from_seconds(20e-6 * (1 + 1e-15)), SimTime{20'000'000});
  EXPECT_EQ(sim_time_from_seconds(20e-6 * (1 - 1e-15)), SimTime{20'000'000});
  EXPECT_EQ(sim_time_from_seconds(20.0000001e-6), SimTime{20'000'001});
}

TEST(SimTime, WhatMakesNoProgressNeverEnds) {
  EXPECT_EQ(sim_time_from_seconds(std::numeric_limits<double>::infinity()), SimTime::never());
  EXPECT_EQ(sim_time_from_seconds(1e300), SimTime::never());
  EXPECT_EQ(SimTime{5} + SimTime::never(), SimTime::never());
  EXPECT_EQ(SimTime::never() + SimTime{5}, SimTime::never());
  EXPECT_LT(SimTime{5} + SimTime{6}, SimTime::never());
}

}  // namespace time_test
}  // namespace cortado::sim
