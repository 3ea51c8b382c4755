#include <gtest/gtest.h>

#include "cortado/machine.hpp"

namespace cortado {
namespace power_test {

TEST(VoltageCurve, IsLinearBetweenItsPointsAndFlatBeyond) {
  const VoltageCurve curve{{0.5, 1.0, 2.0}, {0.6, 0.7, 1.1}};
  EXPECT_DOUBLE_EQ(curve.volts_at(0.75), 0.65);
  EXPECT_DOUBLE_EQ(curve.volts_at(1.0), 0.7);
  EXPECT_DOUBLE_EQ(curve.volts_at(1.5), 0.9);
  EXPECT_DOUBLE_EQ(curve.volts_at(0.1), 0.6);
  EXPECT_DOUBLE_EQ(curve.volts_at(3), 1.1);
}

TEST(Power, IdleIsOfAllComponentsAndTheirRegulators) {
  Power power;
  power.rest_idle_w = 10;
  power.loss = 0.1;
  power.xcd.emplace().idle_w = 20;
  power.hbm.emplace().idle_w = 30;
  EXPECT_DOUBLE_EQ(power.idle_w(), 10 + 1.1 * 50);
  EXPECT_EQ(power.component(Component::iod), nullptr);
  EXPECT_EQ(power.component(Component::rest), nullptr);
  EXPECT_EQ(power.component(Component::hbm), &*power.hbm);
}

}  // namespace power_test
}  // namespace cortado
