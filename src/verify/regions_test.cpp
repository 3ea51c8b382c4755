#include "verify/regions.hpp"

#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace cortado::verifier {
namespace regions_test {

std::set<std::uint64_t> bytes_of(const Region& region) {
  std::set<std::uint64_t> bytes;
  for (std::uint64_t row = 0; row < region.rows; ++row) {
    for (std::uint64_t i = 0; i < region.width.value; ++i) bytes.insert(region.row_offset(row).value + i);
  }
  return bytes;
}

Region random_region(Random& random) {
  const std::uint64_t width = 1 + random.below(6);
  const std::uint64_t rows = 1 + random.below(5);
  return {{0}, {random.below(40)}, {width}, rows, {width + random.below(6)}};
}

TEST(Regions, EndIsBehindTheLastByte) {
  EXPECT_EQ(end_of(make_region({0}, {8}, {4})), 12U);
  // Rows at 8, 18, 28, each 4 long.
  EXPECT_EQ(end_of(Region{{0}, {8}, {4}, 3, {10}}), 32U);
}

TEST(Regions, EndThatDoesNotFitIsNone) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(end_of(make_region({0}, {kMax}, {1})), std::nullopt);
  EXPECT_EQ(end_of(Region{{0}, {0}, {1}, 3, {1ULL << 63U}}), std::nullopt);
  EXPECT_EQ(end_of(make_region({0}, {kMax - 1}, {1})), kMax);
  // One row has no pitch.
  EXPECT_EQ(end_of(Region{{0}, {0}, {1}, 1, {kMax}}), 1U);
}

TEST(Regions, JoinsRowsThatTouch) {
  EXPECT_EQ(joined(Region{{0}, {8}, {4}, 3, {4}}), make_region({0}, {8}, {12}));
  const Region apart{{0}, {8}, {4}, 3, {5}};
  EXPECT_EQ(joined(apart), apart);
}

TEST(Regions, ColumnPanelsOfAMatrixDoNotOverlap) {
  const Region left{{0}, {0}, {8}, 100, {16}};
  const Region right{{0}, {8}, {8}, 100, {16}};
  EXPECT_FALSE(overlap(left, right));
  EXPECT_TRUE(overlap(left, Region{{0}, {7}, {8}, 100, {16}}));
  EXPECT_FALSE(overlap(left, Region{{1}, {0}, {8}, 100, {16}}));  // another buffer
}

TEST(Regions, OverlapAgreesWithSetsOfBytes) {
  Random random(3);
  int overlapping = 0;
  for (int round = 0; round < 20000; ++round) {
    const Region a = random_region(random);
    const Region b = random_region(random);
    const auto bytes_a = bytes_of(a);
    const auto bytes_b = bytes_of(b);
    bool shared = false;
    for (const std::uint64_t byte : bytes_a) shared = shared || bytes_b.contains(byte);
    overlapping += shared ? 1 : 0;
    ASSERT_EQ(overlap(a, b), shared) << a.offset.value << " " << a.width.value << " " << a.rows << " " << a.pitch.value
                                     << " / " << b.offset.value << " " << b.width.value << " " << b.rows << " "
                                     << b.pitch.value;
  }
  EXPECT_GT(overlapping, 1000);
  EXPECT_LT(overlapping, 19000);
}

}  // namespace regions_test
}  // namespace cortado::verifier
