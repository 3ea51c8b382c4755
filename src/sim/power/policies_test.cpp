#include "sim/power/policies.hpp"

#include <gtest/gtest.h>

#include "sim/power/testing.hpp"

namespace cortado::sim {
namespace policies_test {

class Policies : public ::testing::Test {
 protected:
  /// At nominal clocks: GEMMs of this many watts that use this much of each clock.
  GpuActivity working(double product_watts, const std::array<double, 3>& use) const {
    GpuActivity activity;
    activity.power = &power_;
    activity.clocks = nominal_clocks(power_);
    for (std::size_t i = 0; i < kClocked.size(); ++i) {
      activity.needed[i] = use[i] < 0 ? 0 : activity.clocks.of(kClocked[i]) * use[i];
      activity.bounds[i] = use[i] >= kBound;
    }
    Energy& watts = activity.mean_watts;
    watts[EnergyPart::xcd_idle] = power_.xcd->idle_w;
    watts[EnergyPart::xcd_leakage] = power_.xcd->leakage_w;
    watts[EnergyPart::xcd_clock] = power_.xcd->clock_w;
    watts[EnergyPart::xcd_products] = product_watts;
    watts[EnergyPart::iod_idle] = power_.iod->idle_w;
    watts[EnergyPart::iod_leakage] = power_.iod->leakage_w;
    watts[EnergyPart::iod_clock] = power_.iod->clock_w;
    watts[EnergyPart::hbm_idle] = power_.hbm->idle_w;
    watts[EnergyPart::rest_idle] = power_.rest_idle_w;
    activity.watts_now = watts;
    return activity;
  }

  PolicyInputs inputs(double cap) const {
    return {.power = power_, .cap_w = cap, .headroom = 0.02, .moves = {true, true, true}};
  }

  Power power_ = small_power();
};

TEST_F(Policies, TheBoardTakesTheHighestClockUnderItsCap) {
  const GpuActivity work = working(400, {1, 0.5, 0.1});
  const Clocks clocks = decide_as_board(work, inputs(400));
  EXPECT_LE(work.watts_at(clocks), 400);
  Clocks higher = clocks;
  higher.xcd += power_.clock_step_ghz;
  EXPECT_GT(work.watts_at(higher), 400);
  EXPECT_EQ(clocks.iod, 1.5);
  EXPECT_EQ(clocks.hbm, 1);
}

TEST_F(Policies, PredictedWattsAreThoseOfTheScalingRules) {
  const GpuActivity work = working(400, {1, 0.5, 0.1});
  // Half the clock and half the voltage of xcd: GEMMs at half the pace and a quarter of the energy each.
  const double xcd = 20 + 16.0 / 8 + 40.0 / 8 + 400.0 / 8;
  EXPECT_DOUBLE_EQ(work.watts_at({.xcd = 1, .iod = 1.5, .hbm = 1}), 10 + 1.1 * (xcd + 30 + 8 + 24 + 5));
  EXPECT_DOUBLE_EQ(work.speed_at({.xcd = 1, .iod = 1.5, .hbm = 1}), 0.5);
}

TEST_F(Policies, WithoutNeedTheBoardChangesNothing) {
  EXPECT_EQ(decide_as_board(working(100, {1, 0.5, 0.1}), inputs(1000)), nominal_clocks(power_));
}

TEST_F(Policies, WhereTheLowestClockOfXcdIsTooMuchAllComeDown) {
  const GpuActivity work = working(20, {0.1, 1, 0.1});
  const Clocks clocks = decide_as_board(work, inputs(110));
  EXPECT_EQ(clocks.xcd, 0.5);
  EXPECT_LT(clocks.iod, 1.5);
  EXPECT_LE(work.watts_at(clocks), 110);
}

TEST_F(Policies, ALowerCapNeverGivesAHigherClock) {
  const GpuActivity work = working(400, {1, 0.5, 0.1});
  double before = 0;
  for (double cap = 120; cap < 700; cap += 20) {
    const Clocks clocks = decide_as_board(work, inputs(cap));
    EXPECT_GE(clocks.xcd, before);
    before = clocks.xcd;
  }
}

TEST_F(Policies, ComponentCapLowersWhatDoesNotBound) {
  const GpuActivity copies = working(0, {0.8, 0.5, 0.6});  // links set the pace
  const Clocks clocks = find_power_policy("component-cap")->decide(copies, inputs(1000));
  EXPECT_NEAR(clocks.xcd, 2 * 0.8 * 1.02, power_.clock_step_ghz);
  EXPECT_NEAR(clocks.iod, 1.5 * 0.5 * 1.02, power_.clock_step_ghz);
  EXPECT_NEAR(clocks.hbm, 0.6 * 1.02, power_.clock_step_ghz);
  EXPECT_GE(copies.speed_at(clocks), 1);
}

TEST_F(Policies, ComponentCapLeavesWhatBounds) {
  const GpuActivity work = working(400, {1, 0.6, 0.1});
  const Clocks board = decide_as_board(work, inputs(400));
  const Clocks clocks = find_power_policy("component-cap")->decide(work, inputs(400));
  EXPECT_EQ(clocks.xcd, board.xcd);
  EXPECT_LT(clocks.iod, board.iod);
  EXPECT_LT(work.watts_at(clocks), work.watts_at(board));
}

TEST_F(Policies, ComponentCapMovesOnlyWhatItMay) {
  PolicyInputs only_xcd = inputs(1000);
  only_xcd.moves = {true, false, false};
  const Clocks clocks = find_power_policy("component-cap")->decide(working(0, {0.8, 0.5, 0.6}), only_xcd);
  EXPECT_LT(clocks.xcd, 2);
  EXPECT_EQ(clocks.iod, 1.5);
  EXPECT_EQ(clocks.hbm, 1);
}

TEST_F(Policies, ComponentShiftGivesFreedWattsToWhatBounds) {
  const GpuActivity work = working(400, {1, 0.6, 0.1});
  const Clocks board = decide_as_board(work, inputs(400));
  const Clocks clocks = find_power_policy("component-shift")->decide(work, inputs(400));
  EXPECT_GT(clocks.xcd, board.xcd);
  EXPECT_LT(clocks.iod, board.iod);
  EXPECT_LE(work.watts_at(clocks), 400);
  EXPECT_GT(work.speed_at(clocks), work.speed_at(board));
}

TEST_F(Policies, ComponentShiftRaisesTheFabricWhereThatBounds) {
  const GpuActivity work = working(100, {0.7, 1, 0.1});
  const Clocks clocks = find_power_policy("component-shift")->decide(work, inputs(400));
  EXPECT_NEAR(clocks.iod, 1.8, 1e-9);
  EXPECT_NEAR(clocks.xcd, 2 * 0.7 * 1.2 * 1.02, power_.clock_step_ghz);
  EXPECT_NEAR(work.speed_at(clocks), 1.2, 1e-9);
}

TEST_F(Policies, InContentionAHigherClockGetsItsShareOfWhatIsFull) {
  GpuActivity work = working(100, {1, 1, 0.1});
  work.contention = {.share = 0.8, .of_products = 0.6, .at = Component::iod};
  // GEMMs ask for 0.6 / 0.8 of the fabric and others for 0.4 / 0.8. At half the clock: 0.375 + 0.5, which fits.
  EXPECT_DOUBLE_EQ(work.speed_at({.xcd = 1, .iod = 1.5, .hbm = 1}), 0.5 / 0.8);
  // With 1.2 times the fabric: 0.75 + 0.5 of 1.2.
  EXPECT_DOUBLE_EQ(work.speed_at({.xcd = 2, .iod = 1.8, .hbm = 1}), 1.2 / 1.25 / 0.8);
  EXPECT_EQ(find_power_policy("component-cap")->decide(work, inputs(1000)).xcd,
            2);  // no clock of those that are contended for is lowered
}

TEST_F(Policies, KernelsThatStartAllTheTimeKeepTheirClock) {
  GpuActivity copies = working(0, {0.8, 0.5, 0.6});
  copies.steady = false;
  EXPECT_EQ(find_power_policy("component-cap")->decide(copies, inputs(1000)).xcd, 2);
  EXPECT_EQ(find_power_policy("component-shift")->decide(copies, inputs(1000)).xcd, 2);
}

TEST_F(Policies, AnIdleGpuRests) {
  for (const PowerPolicy* policy : power_policies()) {
    EXPECT_EQ(decide(*policy, working(0, {-1, -1, -1}), inputs(500)), nominal_clocks(power_)) << policy->name;
  }
}

}  // namespace policies_test
}  // namespace cortado::sim
