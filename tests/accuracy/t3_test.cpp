// What T3 found over the sub-layers of five models, on one set of constants (machines/t3-ring-16.toml; -8 and -32 build
// on it). published/t3.toml says which figures the constants were chosen by and which were kept apart.
#include <gtest/gtest.h>

#include "reproduce/reproduce.hpp"

namespace cortado {
namespace t3_test {

const report::Reproduction& t3() {
  static const report::Reproduction kOurs = [] {
    const auto result = pipeline::reproduce("t3", {}, {.threads = 2});
    EXPECT_TRUE(result) << to_string(result.error().errors.front());
    return result ? *result : report::Reproduction{};
  }();
  return kOurs;
}

double figure(const std::string& name) {
  const report::ReproducedFigure* found = t3().figure(name);
  EXPECT_NE(found, nullptr) << name;
  return found == nullptr ? 0 : found->ours;
}

TEST(T3, GainsOfSubLayersAreThoseOfThePaper) {
  EXPECT_NEAR(figure("ideal geomean"), 35, 4);
  EXPECT_NEAR(figure("ideal greatest"), 50, 4);
  EXPECT_NEAR(figure("t3 geomean"), 20, 4);
  EXPECT_NEAR(figure("t3 greatest"), 39, 4);
  EXPECT_NEAR(figure("t3-mca geomean"), 30, 4);
  EXPECT_NEAR(figure("t3-mca greatest"), 47, 4);
  EXPECT_NEAR(figure("t3-mca large geomean"), 29, 4);
  EXPECT_NEAR(figure("t3-mca large greatest"), 35, 4);
}

TEST(T3, TrafficIsThatOfThePaper) {
  EXPECT_NEAR(figure("movement geomean"), -22, 4);
  EXPECT_NEAR(figure("movement greatest"), -36, 4);
  // (2N-1)/(N-2), exactly by count.
  EXPECT_NEAR(figure("reduce-scatter reads tp 8"), 15.0 / 6, 1e-9);
  EXPECT_NEAR(figure("reduce-scatter reads tp 16"), 31.0 / 14, 1e-9);
  EXPECT_NEAR(figure("writes"), -10, 1);
}

TEST(T3, FewerUnitsAndAddingMemoryAreThoseOfThePaper) {
  EXPECT_NEAR(figure("all-reduce on 8 units"), 41, 5);
  EXPECT_NEAR(figure("all-reduce on 16 units"), 7, 5);
  EXPECT_NEAR(figure("product on 64 units"), 21, 5);
  EXPECT_NEAR(figure("nmc tp 8"), 7, 2);
  EXPECT_NEAR(figure("nmc tp 16"), 3, 2);
}

TEST(T3, EveryGoalOfTheDataIsReached) {
  for (const report::ReproducedFigure& one : t3().figures) {
    EXPECT_NE(one.goal(), report::Goal::missed)
        << one.published.name << ": " << one.ours << " for " << one.published.published;
  }
}

}  // namespace t3_test
}  // namespace cortado
