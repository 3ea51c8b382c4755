#include "plan/collective/blocks.hpp"

#include <gtest/gtest.h>

namespace cortado::plan {
namespace blocks_test {

TEST(Blocks, FirstBlocksTakeTheRemainder) {
  const Blocks blocks(Bytes{10}, 4, Bytes{1});  // 10 = 3 + 3 + 2 + 2
  EXPECT_EQ(blocks.size(0), Bytes{3});
  EXPECT_EQ(blocks.size(1), Bytes{3});
  EXPECT_EQ(blocks.size(2), Bytes{2});
  EXPECT_EQ(blocks.offset(2), Bytes{6});
  EXPECT_EQ(blocks.offset(3), Bytes{8});
}

TEST(Blocks, AreWholeElements) {
  const Blocks blocks(Bytes{20}, 3, Bytes{4});  // 5 elements = 2 + 2 + 1
  EXPECT_EQ(blocks.size(0), Bytes{8});
  EXPECT_EQ(blocks.size(2), Bytes{4});
  EXPECT_EQ(blocks.offset(2), Bytes{16});
}

TEST(Blocks, CoverEverythingWithoutGapsAndMayBeEmpty) {
  for (std::uint64_t total : {1u, 7u, 64u, 1000u}) {
    for (std::uint32_t parts = 1; parts < 20; ++parts) {
      const Blocks blocks(Bytes{total}, parts, Bytes{1});
      Bytes end{};
      for (std::uint32_t i = 0; i < parts; ++i) {
        EXPECT_EQ(blocks.offset(i), end);
        end += blocks.size(i);
      }
      EXPECT_EQ(end, Bytes{total});
    }
  }
}

TEST(Blocks, HugeSizesDoNotOverflow) {
  const Blocks blocks(Bytes{(1ULL << 62) + 3}, 64, Bytes{1});
  EXPECT_EQ(blocks.size(0), Bytes{(1ULL << 56) + 1});
  EXPECT_EQ(blocks.offset(63) + blocks.size(63), Bytes{(1ULL << 62) + 3});
}

}  // namespace blocks_test
}  // namespace cortado::plan
