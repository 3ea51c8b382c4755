#include "pipeline/parallel.hpp"

#include <numeric>
#include <stdexcept>

#include <gtest/gtest.h>

namespace cortado::pipeline {
namespace parallel_test {

TEST(Parallel, EveryItemIsWorkedOnOnce) {
  for (const std::size_t threads : {1U, 3U, 50U}) {
    std::vector<int> worked(20, 0);
    std::size_t last = 0;
    EXPECT_TRUE(for_each_in_parallel(
        worked.size(), threads, [&](std::size_t i) { ++worked[i]; },
        [&](std::size_t done) {
          EXPECT_EQ(done, last + 1);
          last = done;
          return true;
        }));
    EXPECT_EQ(worked, std::vector<int>(20, 1));
  }
}

TEST(Parallel, WhatStopsItLetsOnlyBegunItemsEnd) {
  std::size_t worked = 0;
  const auto work = [&](std::size_t) { ++worked; };
  EXPECT_FALSE(for_each_in_parallel(20, 1, work, [](std::size_t done) { return done < 3; }));
  EXPECT_EQ(worked, 3U);
  worked = 0;
  const auto fails = [&](std::size_t i) {
    ++worked;
    if (i == 4) throw std::runtime_error("four");
  };
  EXPECT_THROW(for_each_in_parallel(20, 1, fails, [](std::size_t) { return true; }), std::runtime_error);
  EXPECT_EQ(worked, 5U);
}

TEST(Parallel, OfNothingIsDone) {
  EXPECT_TRUE(for_each_in_parallel(
      0, 4, [](std::size_t) { FAIL(); }, [](std::size_t) { return true; }));
}

}  // namespace parallel_test
}  // namespace cortado::pipeline
