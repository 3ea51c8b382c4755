#include "verify/runs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"

namespace cortado::verifier {
namespace runs_test {

std::uint64_t address_of_place(const Region& region, std::uint64_t place) {
  return region.row_offset(place / region.width.value).value + place % region.width.value;
}

/// Runs of both kinds name the same bytes, one to one.
void expect_same_bytes(const PlacedRuns& runs, const Region& region) {
  ASSERT_EQ(runs.address.width, runs.place.width);
  ASSERT_EQ(runs.address.count, runs.place.count);
  for (std::uint64_t k = 0; k < runs.place.count; ++k) {
    for (std::uint64_t d = 0; d < runs.place.width; ++d) {
      ASSERT_EQ(runs.address.run_start(k) + d, address_of_place(region, runs.place.run_start(k) + d));
    }
  }
}

TEST(Runs, AStridedRegionOfTheGivenPitchIsOneSet) {
  const Region region{{0}, {5}, {4}, 1000, {64}};
  const auto runs = runs_of(region, 64);
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].address, (Runs{5, 4, 1000, 64}));
  EXPECT_EQ(runs[0].place, (Runs{0, 4, 1000, 4}));
  EXPECT_EQ(runs_of(region, 1).size(), 1000U);
}

TEST(Runs, TouchingRowsAreOneRun) {
  const auto runs = runs_of(Region{{0}, {5}, {4}, 10, {4}}, 4);
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].address, (Runs{5, 40}));
}

TEST(Runs, OneRunOverStridedRowsHasAtMostThreeParts) {
  // Rows of 4; places 2 .. 17 are two bytes of row 0, rows 1 to 3, and two bytes of row 4.
  const Region region{{0}, {0}, {4}, 8, {16}};
  const auto parts = addresses_of({2, 16}, region);
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[0].address, (Runs{2, 2}));
  EXPECT_EQ(parts[1].address, (Runs{16, 4, 3, 16}));
  EXPECT_EQ(parts[2].address, (Runs{64, 2}));
}

TEST(Runs, EveryPlaceHasItsAddress) {
  Random random(29);
  for (int round = 0; round < 2000; ++round) {
    const std::uint64_t width = 1 + random.below(6);
    const Region region{{0}, {random.below(20)}, {width}, 2 + random.below(6), {width + random.below(5)}};
    const std::uint64_t bytes = region.bytes().value;
    Runs place{random.below(bytes), 1};
    place.width = 1 + random.below(bytes - place.start);
    if (random.chance(2)) {
      place.width = std::min<std::uint64_t>(place.width, 4);
      place.stride = place.width + random.below(8);
      place.count = 1 + (bytes - place.start - place.width) / place.stride;
    }
    std::uint64_t covered = 0;
    for (const PlacedRuns& part : addresses_of(place, region)) {
      expect_same_bytes(part, region);
      covered += part.place.width * part.place.count;
    }
    EXPECT_EQ(covered, place.width * place.count);
    for (const PlacedRuns& part : runs_of(region, region.pitch.value)) expect_same_bytes(part, region);
  }
}

TEST(Runs, RectanglesCoverTheRunsOnce) {
  Random random(31);
  for (int round = 0; round < 2000; ++round) {
    const std::uint64_t pitch = 1 + random.below(12);
    Runs runs{random.below(40), 1 + random.below(40)};
    if (pitch > 1 && random.chance(2)) runs = {random.below(40), 1 + random.below(pitch), 2 + random.below(4), pitch};
    std::vector<int> hits(256, 0);
    for (const Rectangle& r : rectangles(runs, pitch)) {
      ASSERT_LE(r.column_end, pitch);
      for (std::uint64_t row = r.row_begin; row < r.row_end; ++row) {
        for (std::uint64_t column = r.column_begin; column < r.column_end; ++column) ++hits[row * pitch + column];
      }
    }
    std::vector<int> expected(256, 0);
    for (std::uint64_t k = 0; k < runs.count; ++k) {
      for (std::uint64_t d = 0; d < runs.width; ++d) ++expected[runs.run_start(k) + d];
    }
    ASSERT_EQ(hits, expected) << "round " << round;
  }
}

TEST(Runs, CommonPitchPrefersStridedRegions) {
  const Region strided{{0}, {0}, {4}, 8, {16}};
  const Region touching{{0}, {0}, {8}, 8, {8}};
  const Region plain = make_region({0}, {0}, {100});
  EXPECT_EQ(common_pitch(std::vector{plain}), 1U);
  EXPECT_EQ(common_pitch(std::vector{plain, touching}), 8U);
  EXPECT_EQ(common_pitch(std::vector{touching, strided, plain}), 16U);
  EXPECT_EQ(common_pitch(std::vector{strided, Region{{0}, {0}, {4}, 8, {20}}}), 1U);
}

}  // namespace runs_test
}  // namespace cortado::verifier
