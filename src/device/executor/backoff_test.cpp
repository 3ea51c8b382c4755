#include "device/executor/backoff.hpp"

#include <gtest/gtest.h>

namespace cortado::device {
namespace backoff_test {

using namespace std::chrono_literals;

TEST(Backoff, StaysAwakeAtFirst) {
  Backoff backoff;
  EXPECT_EQ(backoff.nap(100s), 0ns);
  EXPECT_EQ(backoff.nap(100s + Backoff::kAwake - 1ns), 0ns);
  EXPECT_GT(backoff.nap(100s + Backoff::kAwake), 0ns);
}

TEST(Backoff, NapsGrowWithTheWaitUpToALimit) {
  Backoff backoff;
  backoff.nap(0ns);
  EXPECT_EQ(backoff.nap(32ms), 500us);
  EXPECT_EQ(backoff.nap(64ms), 1ms);
  EXPECT_EQ(backoff.nap(10s), 1ms);
}

TEST(Backoff, IsAwakeAgainWhenSomethingMoved) {
  Backoff backoff;
  backoff.nap(0ns);
  ASSERT_GT(backoff.nap(1s), 0ns);
  backoff.moved();
  EXPECT_EQ(backoff.nap(1s), 0ns);
  EXPECT_EQ(backoff.nap(1s + 9ms), 0ns);
  EXPECT_GT(backoff.nap(1s + 10ms), 0ns);
}

}  // namespace backoff_test
}  // namespace cortado::device
