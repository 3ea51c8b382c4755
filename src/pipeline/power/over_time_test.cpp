#include "pipeline/power/over_time.hpp"

#include <gtest/gtest.h>

namespace cortado::pipeline {
namespace over_time_test {

TEST(PowerOverTime, TakesTheComponentsOfGpuZero) {
  Timeline timeline;
  timeline.counters = {{"gpu 0 xcd", "GHz", {{{0}, 2.1}, {{50}, 1.2}, {{60}, 1.3}}},
                       {"gpu 0 xcd", "W", {{{0}, 300}, {{100}, 310}}},
                       {"gpu 0 iod", "W", {{{0}, 100}, {{100}, 110}}},
                       {"gpu 0 hbm", "W", {{{0}, 50}, {{100}, 55}}},
                       {"gpu 0 rest", "W", {{{0}, 40}, {{100}, 45}}},
                       {"gpu 1 xcd", "W", {{{0}, 1}, {{100}, 2}}}};
  const auto samples = power_over_time(timeline);
  ASSERT_EQ(samples.size(), 2U);
  EXPECT_EQ(samples[1].time, Nanoseconds{100});
  EXPECT_EQ(samples[1].watts, (std::array<double, 4>{310, 110, 55, 45}));
  EXPECT_DOUBLE_EQ(samples[0].total(), 490);
}

TEST(PowerOverTime, IsEmptyWhereNobodyCounted) {
  EXPECT_TRUE(power_over_time(Timeline{}).empty());
}

}  // namespace over_time_test
}  // namespace cortado::pipeline
