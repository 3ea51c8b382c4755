#include "sim/gpu/thread_turns.hpp"

#include <gtest/gtest.h>

namespace cortado::sim {
namespace thread_turns_test {

TEST(ThreadTurns, FirstComeFirstServed) {
  ThreadTurns turns(2, 5);
  EXPECT_TRUE(turns.take(3));
  EXPECT_TRUE(turns.take(0));
  EXPECT_TRUE(turns.take(3));  // has one already
  EXPECT_FALSE(turns.take(4));
  EXPECT_FALSE(turns.take(1));
  EXPECT_FALSE(turns.take(4));                  // is in line once
  EXPECT_EQ(turns.give_back(2), std::nullopt);  // had none
  EXPECT_EQ(turns.give_back(0), 4U);
  EXPECT_TRUE(turns.take(4));
  EXPECT_EQ(turns.give_back(3), 1U);
  EXPECT_EQ(turns.give_back(1), std::nullopt);
  EXPECT_TRUE(turns.take(2));  // the thread that nothing waited for
  EXPECT_FALSE(turns.take(0));
}

TEST(ThreadTurns, WithoutThreadsNobodyWaits) {
  ThreadTurns turns(0, 3);
  for (std::uint32_t queue = 0; queue < 3; ++queue) EXPECT_TRUE(turns.take(queue));
  EXPECT_EQ(turns.give_back(1), std::nullopt);
}

}  // namespace thread_turns_test
}  // namespace cortado::sim
