#include "verify/strips.hpp"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"

namespace cortado::verifier {
namespace strips_test {

TEST(Strips, PlainRangesAreOneStripOfBytes) {
  const std::vector<Region> regions{make_region({0}, {3}, {10}), make_region({0}, {100}, {5})};
  const Strips strips(regions);
  EXPECT_EQ(strips.count(), 1U);
  const auto cells = strips.cells(regions[0]);
  ASSERT_EQ(cells.size(), 1U);
  EXPECT_EQ(cells[0].begin, 3U);
  EXPECT_EQ(cells[0].end, 13U);
}

TEST(Strips, ColumnPanelsAreOneCellEach) {
  // A matrix of 1000 rows of 64 bytes in four panels: four strips, one cell of 1000 rows for each panel.
  std::vector<Region> regions;
  for (std::uint64_t p = 0; p < 4; ++p) regions.push_back({{0}, {16 * p}, {16}, 1000, {64}});
  regions.push_back(make_region({0}, {0}, {64000}));
  const Strips strips(regions);
  EXPECT_EQ(strips.count(), 4U);
  for (std::size_t p = 0; p < 4; ++p) {
    const auto cells = strips.cells(regions[p]);
    ASSERT_EQ(cells.size(), 1U);
    EXPECT_EQ(cells[0].strip, p);
    EXPECT_EQ(cells[0].end - cells[0].begin, 1000U);
  }
  EXPECT_EQ(strips.cells(regions[4]).size(), 4U);  // the whole matrix covers each strip once
  EXPECT_EQ(strips.first_run(strips.cells(regions[1])[0]), (std::pair<std::uint64_t, std::uint64_t>{16, 32}));
}

/// Two regions share a byte iff two of their cells share a row of a strip.
bool cells_meet(const Strips& strips, const Region& a, const Region& b) {
  for (const auto& x : strips.cells(a)) {
    for (const auto& y : strips.cells(b)) {
      if (x.strip == y.strip && x.begin < y.end && y.begin < x.end) return true;
    }
  }
  return false;
}

bool bytes_meet(const Region& a, const Region& b) {
  std::set<std::uint64_t> bytes;
  const auto each = [](const Region& region, auto&& visit) {
    for (std::uint64_t row = 0; row < region.rows; ++row) {
      for (std::uint64_t i = 0; i < region.width.value; ++i) visit(region.row_offset(row).value + i);
    }
  };
  each(a, [&](std::uint64_t byte) { bytes.insert(byte); });
  bool met = false;
  each(b, [&](std::uint64_t byte) { met = met || bytes.contains(byte); });
  return met;
}

TEST(Strips, CellsMeetExactlyWhereBytesDo) {
  Random random(5);
  for (int round = 0; round < 500; ++round) {
    // One pitch for most, so that strips are used; sometimes two.
    const std::uint64_t pitch = 8 + random.below(9);
    std::vector<Region> regions;
    for (int i = 0; i < 6; ++i) {
      const std::uint64_t width = 1 + random.below(8);
      const std::uint64_t this_pitch = random.chance(20) ? pitch + 1 : pitch;
      regions.push_back({{0}, {random.below(60)}, {width}, 1 + random.below(4), {this_pitch}});
    }
    regions.push_back(make_region({0}, {random.below(40)}, {1 + random.below(60)}));
    const Strips strips(regions);
    for (const Region& a : regions) {
      for (const Region& b : regions) ASSERT_EQ(cells_meet(strips, a, b), bytes_meet(a, b)) << "round " << round;
    }
  }
}

}  // namespace strips_test
}  // namespace cortado::verifier
