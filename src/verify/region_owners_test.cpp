#include "verify/region_owners.hpp"

#include <map>

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace cortado::verifier {
namespace region_owners_test {

TEST(RegionOwners, ColumnsOfOneMatrixDoNotOverlap) {
  // Two columns of 4 bytes of a matrix with rows of 8.
  const std::vector<Region> columns{{{0}, {0}, {4}, 3, {8}}, {{0}, {4}, {4}, 3, {8}}};
  EXPECT_FALSE(RegionOwners(columns, {}).overlap().has_value());
  const std::vector<Region> wider{columns[0], {{0}, {3}, {4}, 3, {8}}};
  EXPECT_EQ(RegionOwners(wider, {}).overlap(), std::pair(0U, 1U));
  const std::vector<Region> elsewhere{columns[0], {{1}, {0}, {4}, 3, {8}}};
  EXPECT_FALSE(RegionOwners(elsewhere, {}).overlap().has_value());
}

/// Byte by byte, with random regions of two buffers.
TEST(RegionOwners, AgreeWithBytesOneByOne) {
  Random random(7);
  for (int round = 0; round < 300; ++round) {
    const bool one_pitch = random.chance(2);
    const auto region = [&] {
      const std::uint64_t rows = 1 + random.below(3);
      const std::uint64_t width = 1 + random.below(8);
      const std::uint64_t pitch = one_pitch ? 8 : width + random.below(4);
      return Region{{static_cast<std::uint32_t>(random.below(2))}, {random.below(24)}, {width}, rows, {pitch}};
    };
    std::vector<Region> owned{region(), region(), region()};
    const Region asked = region();
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t> bytes;
    bool overlap = false;
    const auto each_byte = [](const Region& r, const auto& visit) {
      for (std::uint64_t row = 0; row < r.rows; ++row) {
        for (std::uint64_t i = 0; i < r.width.value; ++i) visit(std::pair(r.buffer.value, r.row_offset(row).value + i));
      }
    };
    for (std::uint32_t i = 0; i < owned.size(); ++i) {
      each_byte(owned[i], [&](const auto& at) {
        overlap = overlap || bytes.contains(at);
        bytes[at] = i;
      });
    }
    const RegionOwners owners(owned, std::span(&asked, 1));
    ASSERT_EQ(owners.overlap().has_value(), overlap) << round;
    if (overlap) continue;
    std::map<std::uint32_t, std::uint64_t> expected;
    each_byte(asked, [&](const auto& at) { ++expected[bytes.contains(at) ? bytes[at] : kNoOwner]; });
    std::map<std::uint32_t, std::uint64_t> found;
    owners.visit(asked, [&](const Strips::Cell& cell, std::uint32_t owner) {
      const auto [begin, end] = owners.strips(asked.buffer).first_run({cell.strip, cell.begin, cell.begin + 1});
      found[owner] += (end - begin) * (cell.end - cell.begin);
    });
    ASSERT_EQ(found, expected) << round;
  }
}

}  // namespace region_owners_test
}  // namespace cortado::verifier
