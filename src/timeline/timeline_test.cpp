#include "cortado/timeline.hpp"

#include <gtest/gtest.h>

namespace cortado {
namespace timeline_test {

Timeline with_times(std::vector<Nanoseconds> times) {
  Timeline timeline;
  timeline.iteration_times = std::move(times);
  return timeline;
}

TEST(MedianTime, IsZeroWithoutIterations) {
  EXPECT_EQ(median_time(Timeline{}).value, 0);
}

TEST(MedianTime, IsTheOnlyTime) {
  EXPECT_EQ(median_time(with_times({{7}})).value, 7);
}

// Sorted: 1 3 900, the middle one is 3; one slow iteration does not move it.
TEST(MedianTime, IsTheMiddleOfAnOddNumber) {
  EXPECT_EQ(median_time(with_times({{900}, {1}, {3}})).value, 3);
}

// Sorted: 1 4 10 100, between 4 and 10 lies 7.
TEST(MedianTime, IsBetweenTheMiddleTwoOfAnEvenNumber) {
  EXPECT_EQ(median_time(with_times({{100}, {4}, {1}, {10}})).value, 7);
}

TEST(MedianTime, LeavesTheTimelineAsItIs) {
  const Timeline timeline = with_times({{3}, {1}, {2}});
  median_time(timeline);
  EXPECT_EQ(timeline.iteration_times[0].value, 3);
}

}  // namespace timeline_test
}  // namespace cortado
