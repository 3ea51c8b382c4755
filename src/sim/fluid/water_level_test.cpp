#include "sim/fluid/water_level.hpp"

#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "sim/fluid/rounding.hpp"

namespace cortado::sim::internal {
namespace water_level_test {

Claim claim(double demand, double weight = 1, double factor = 1) {
  return {demand, weight, demand / weight, factor * demand, factor * weight, 0, 0};
}

constexpr double kAll = std::numeric_limits<double>::infinity();

TEST(WaterLevel, DemandsThatFitAreNotLimited) {
  const std::vector<Claim> claims{claim(3), claim(4)};
  const WaterLevel water = water_level(claims, 10, kNoLevel);
  EXPECT_EQ(water.level, kNoLevel);
  EXPECT_DOUBLE_EQ(water.left, 3);
  EXPECT_EQ(water_level(claims, 7, kNoLevel).level, kNoLevel);
  EXPECT_EQ(water_level({}, 7, kNoLevel).level, kNoLevel);
}

// Demands 1, 2, 10, unlimited on 15: the first two have enough, the level of the other two is (15 - 3) / 2 = 6.
// The guess does not matter, be it below, between the demands, above all or far off.
TEST(WaterLevel, DoesNotDependOnTheGuess) {
  const std::vector<Claim> claims{claim(10), claim(1), claim(kAll), claim(2)};
  for (const double guess : {0.0, 0.5, 1.0, 1.5, 2.0, 6.0, 9.0, 10.0, 1e9, kNoLevel}) {
    const WaterLevel water = water_level(claims, 15, guess);
    EXPECT_DOUBLE_EQ(water.level, 6) << guess;
    EXPECT_DOUBLE_EQ(water.left, 12) << guess;
  }
}

// Weights 1 and 2, factors 3 and 1 on 10: 3 L + 2 L = 10, L = 2; the rates are 2 and 4.
TEST(WaterLevel, SlopeIsWeightTimesFactor) {
  EXPECT_DOUBLE_EQ(water_level(std::vector<Claim>{claim(kAll, 1, 3), claim(kAll, 2, 1)}, 10, 0).level, 2);
}

TEST(WaterLevel, NothingToShareIsLevelZero) {
  const WaterLevel water = water_level(std::vector<Claim>{claim(5), claim(kAll)}, 0, kNoLevel);
  EXPECT_EQ(water.level, 0);
  EXPECT_EQ(water.left, 0);
}

}  // namespace water_level_test
}  // namespace cortado::sim::internal
