#include "reproduce/published/steps.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace cortado::published {
namespace steps_test {

// AMD's README serves as many sequences as there are requests, with 131072 tokens per step.
TEST(Steps, ThroughputHasTheLimitsOfItsSource) {
  const auto all = load_steps("models");
  ASSERT_TRUE(all) << to_string(all.error());
  const auto at = std::ranges::find(*all, "throughput 405b 500/2000", &ModelStep::name);
  ASSERT_NE(at, all->end());
  EXPECT_EQ(at->phase, "serve");
  EXPECT_EQ(at->requests, 2000U);
  EXPECT_EQ(at->batch, at->requests);
  EXPECT_EQ(at->max_tokens, 131072U);
}

TEST(Steps, LeaveOtherLimitsToTheEngine) {
  const auto all = load_steps("models");
  ASSERT_TRUE(all);
  const auto at = std::ranges::find(*all, "latency 405b 128/2048", &ModelStep::name);
  ASSERT_NE(at, all->end());
  EXPECT_FALSE(at->max_tokens);
}

}  // namespace steps_test
}  // namespace cortado::published
