#include "serve/block_cache.hpp"

#include <gtest/gtest.h>

#include "serve/pool.hpp"

namespace cortado::serve {
namespace block_cache_test {

TEST(BlockCache, WhatWasNotUsedForLongestGoesFirst) {
  BlockCache cache;
  for (const std::uint64_t name : {1U, 2U, 3U}) cache.insert(name, false);
  cache.touch(1);
  EXPECT_EQ(cache.evict(), 2U);
  EXPECT_EQ(cache.evict(), 3U);
  EXPECT_EQ(cache.evict(), 1U);
  EXPECT_EQ(cache.size(), 0U);
}

TEST(BlockCache, BlocksInUseStayUntilTheLastUserReleasesThem) {
  BlockCache cache;
  cache.insert(1, true);
  cache.insert(2, false);
  cache.use(1);
  EXPECT_EQ(cache.idle(), 1U);
  EXPECT_EQ(cache.evict(), 2U);
  cache.release(1);
  EXPECT_EQ(cache.idle(), 0U);
  cache.release(1);
  EXPECT_EQ(cache.evict(), 1U);
}

TEST(PagePool, IdleBlocksMakeRoom) {
  PagePool pool(5);
  ASSERT_TRUE(pool.take(4));
  pool.keep(7);  // one of the four pages
  pool.release(7);
  EXPECT_EQ(pool.available(), 2U);
  EXPECT_FALSE(pool.take(3));
  ASSERT_TRUE(pool.take(2));
  EXPECT_FALSE(pool.cache().contains(7));
  EXPECT_EQ(pool.available(), 0U);
}

TEST(PagePool, ABlockThatIsThereAlreadyIsShared) {
  PagePool pool(5);
  ASSERT_TRUE(pool.take(1));
  pool.keep(7);
  ASSERT_TRUE(pool.take(1));
  pool.keep(7);  // gives its own page back
  EXPECT_EQ(pool.used(), 1U);
}

TEST(HostTier, HoldsAsManyBlocksAsFit) {
  HostTier tier(2);
  for (const std::uint64_t name : {1U, 2U, 1U, 3U}) tier.insert(name);
  EXPECT_TRUE(tier.contains(1));
  EXPECT_FALSE(tier.contains(2));
  EXPECT_EQ(tier.evicted(), 1U);
  HostTier none(0);
  none.insert(1);
  EXPECT_EQ(none.size(), 0U);
}

}  // namespace block_cache_test
}  // namespace cortado::serve
