#include "verify/tile_groups.hpp"

#include <map>

#include <gtest/gtest.h>

namespace cortado::verifier {
namespace tile_groups_test {

/// 5 x 7 elements of f32 in tiles of 2 x 3: 3 x 3 tiles, the last ones smaller; K = 2.
Gemm uneven() {
  Gemm gemm{{{0}, {0}, {8}, 5, {8}}, {{1}, {0}, {28}, 2, {28}}, {{2}, {4}, {28}, 5, {32}}, 5, 7, 2};
  gemm.tile_m = 2;
  gemm.tile_n = 3;
  return gemm;
}

/// How often each byte of C is written by the tiles.
std::map<std::uint64_t, int> writes(const Gemm& gemm, TileRange tiles) {
  std::map<std::uint64_t, int> count;
  for (const Access& access : tile_accesses(gemm, tiles)) {
    if (access.kind == AccessKind::read) continue;
    for (std::uint64_t row = 0; row < access.region.rows; ++row) {
      for (std::uint64_t i = 0; i < access.region.width.value; ++i) ++count[access.region.row_offset(row).value + i];
    }
  }
  return count;
}

TEST(TileGroups, EveryRangeWritesExactlyItsTiles) {
  const Gemm gemm = uneven();
  for (std::uint64_t begin = 0; begin < 9; ++begin) {
    for (std::uint64_t end = begin + 1; end <= 9; ++end) {
      std::map<std::uint64_t, int> expected;
      for (std::uint64_t row = 0; row < 5; ++row) {
        for (std::uint64_t column = 0; column < 7; ++column) {
          const std::uint64_t tile = row / 2 * 3 + column / 3;
          if (tile < begin || tile >= end) continue;
          for (std::uint64_t i = 0; i < 4; ++i) expected[4 + row * 32 + column * 4 + i] = 1;
        }
      }
      EXPECT_EQ(writes(gemm, {begin, end}), expected) << begin << " to " << end;
    }
  }
}

TEST(TileGroups, TilesReadTheirRowsOfAAndColumnsOfB) {
  // Tile 4 is the middle one: rows 2 and 3 of A (8 bytes each), columns 3 to 5 of B.
  const auto all = tile_accesses(uneven(), {4, 5});
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].region, (Region{{0}, {16}, {8}, 2, {8}}));
  EXPECT_EQ(all[1].region, (Region{{1}, {12}, {12}, 2, {28}}));
}

TEST(TileGroups, PartsLieBetweenTheRaises) {
  Gemm gemm = uneven();
  gemm.raises = {{2, {0}, 1}, {2, {1}, 1}, {7, {0}, 1}};
  const auto range = [&](std::size_t part) {
    return std::pair(tile_group(gemm, part).begin, tile_group(gemm, part).end);
  };
  EXPECT_EQ(range(0), (std::pair<std::uint64_t, std::uint64_t>{0, 2}));
  EXPECT_EQ(range(1), (std::pair<std::uint64_t, std::uint64_t>{2, 2}));
  EXPECT_EQ(range(2), (std::pair<std::uint64_t, std::uint64_t>{2, 7}));
  EXPECT_EQ(range(3), (std::pair<std::uint64_t, std::uint64_t>{7, 9}));
}

TEST(TileGroups, GatherReadsOnlyTheRowsItNames) {
  const Region source{{0}, {0}, {4}, 10, {8}};
  const Region dst{{1}, {0}, {4}, 4, {4}};
  const auto all = row_accesses({KernelOp::gather_rows, {source}, dst, DType::u8, {7, 2, 3, 2}});
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].region, (Region{{0}, {16}, {4}, 2, {8}}));  // rows 2 and 3
  EXPECT_EQ(all[1].region, (Region{{0}, {56}, {4}, 1, {8}}));  // row 7
  EXPECT_EQ(all[2].region, dst);
  EXPECT_EQ(all[2].kind, AccessKind::write);
}

TEST(TileGroups, TilesOfAMapAreCountedBlockByBlock) {
  // Columns 3 to 6 first: 3 tile rows of 2 tiles; then columns 0 to 2: 3 tiles.
  Gemm gemm = uneven();
  gemm.c = {};
  gemm.outputs = {{0, 3, 5, 4, {{2}, {0}, {16}, 5, {16}}, CopyOp::add}, {0, 0, 5, 3, {{3}, {0}, {12}, 5, {12}}}};
  gemm.raises = {{5, {0}, 1}};
  EXPECT_EQ(tile_group(gemm, 0).end, 5U);
  EXPECT_EQ(tile_group(gemm, 1).end, 9U);
  // Tiles 5 and 6: the last one of the first block (row 4, column 6) and the first one of the second.
  const std::vector<Gemm> parts = tile_gemms(gemm, {5, 7});
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].outputs, (std::vector<OutputBlock>{{0, 0, 1, 1, {{2}, {64 + 12}, {4}, 1, {16}}, CopyOp::add}}));
  EXPECT_EQ(parts[0].a, (Region{{0}, {32}, {8}, 1, {8}}));
  EXPECT_EQ(parts[0].b, (Region{{1}, {24}, {4}, 2, {28}}));
  EXPECT_EQ(parts[1].outputs, (std::vector<OutputBlock>{{0, 0, 2, 3, {{3}, {0}, {12}, 2, {12}}}}));
  EXPECT_EQ(parts[1].b, (Region{{1}, {0}, {12}, 2, {28}}));
}

}  // namespace tile_groups_test
}  // namespace cortado::verifier
