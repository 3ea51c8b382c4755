// Trackers by hand: pieces of 100 bytes, a unit of entries of 100 bytes each.
#include "sim/gpu/trackers.hpp"

#include <gtest/gtest.h>

#include "cortado/program.hpp"

namespace cortado::sim {
namespace trackers_test {

constexpr std::uint64_t kPiece = 100;

Machine with_entries(std::uint32_t entries) {
  Machine machine = load_machine("t3-ring-8").value();
  machine.features.tracker = TrackerLimits{entries, {kPiece}};
  return machine;
}

/// One buffer on each of two GPUs; trackers of this many pieces each, one after another on GPU 0.
Program program_with(const std::vector<std::uint64_t>& pieces, std::uint64_t updates = 1) {
  ProgramBuilder b("trackers", "t3-ring-8", 2);
  const BufferId buffer = b.buffer("c", RankId{0}, {10'000}, BufferRole::scratch);
  b.buffer("d", RankId{1}, {10'000}, BufferRole::scratch);
  const SignalId signal = b.signal("complete");
  std::uint64_t offset = 0;
  for (const std::uint64_t count : pieces) {
    b.tracker({"t", make_region(buffer, {offset}, {count * kPiece}), updates, signal, 1});
    offset += count * kPiece;
  }
  return std::move(b).finish();
}

TEST(CommonBytes, OfRangesAndRows) {
  const Region range = make_region({0}, {100}, {50});
  EXPECT_EQ(common_bytes(range, make_region({0}, {120}, {100})), 30U);
  EXPECT_EQ(common_bytes(range, make_region({0}, {150}, {100})), 0U);
  // Rows of 10 bytes at 0, 20, 40, ...: the range 100 to 149 has those at 100, 120 and 140.
  const Region rows{{0}, {0}, {10}, 50, {20}};
  EXPECT_EQ(common_bytes(range, rows), 30U);
  EXPECT_EQ(common_bytes(rows, range), 30U);
  EXPECT_EQ(common_bytes(make_region({0}, {105}, {20}), rows), 5U + 5U);
  // Columns 5 to 24 of the same matrix, rows 2 to 5: five bytes of each row, at 45, 65, ...
  EXPECT_EQ(common_bytes(rows, Region{{0}, {45}, {10}, 4, {20}}), 4 * 5U);
  // Rows without gaps are one range.
  EXPECT_EQ(common_bytes(Region{{0}, {100}, {10}, 5, {10}}, rows), 30U);
}

TEST(Trackers, FireWhenEveryByteHadItsUpdates) {
  const Program program = program_with({2, 1}, 2);
  Trackers trackers(program, with_entries(8));
  ASSERT_TRUE(trackers.open(0));
  EXPECT_FALSE(trackers.update({0, 200}));
  EXPECT_FALSE(trackers.update({0, 150}));
  EXPECT_EQ(trackers.missing_bytes(0), 50U);
  EXPECT_TRUE(trackers.update({0, 50}));
  EXPECT_EQ(trackers.missing_bytes(0), 400U);  // it has started over
}

TEST(Trackers, AreFoundByTheBytesThatTheyWatch) {
  const Program program = program_with({1, 2, 1});
  const Trackers trackers(program, with_entries(8));
  std::vector<std::pair<std::uint32_t, std::uint64_t>> found;
  trackers.for_each_within(make_region({0}, {50}, {300}),
                           [&](std::uint32_t tracker, std::uint64_t bytes) { found.emplace_back(tracker, bytes); });
  const std::vector<std::pair<std::uint32_t, std::uint64_t>> expected{{0, 50}, {1, 200}, {2, 50}};
  EXPECT_EQ(found, expected);
  EXPECT_TRUE(trackers.watches({0}));
  EXPECT_FALSE(trackers.watches({1}));
}

// Four entries, trackers of 2, 1, 2 and 1: two are kept for the first that is not complete. So the second opens and the
// third does not; when the second is complete it still does not matter to the first, which may always open.
TEST(Trackers, TheFirstMayAlwaysOpen) {
  const Program program = program_with({2, 1, 2, 1});
  Trackers trackers(program, with_entries(4));
  EXPECT_TRUE(trackers.open(1));
  EXPECT_FALSE(trackers.open(2));
  EXPECT_TRUE(trackers.open(3));
  EXPECT_TRUE(trackers.open(0));
  EXPECT_EQ(trackers.entries_peak(), 4U);
  EXPECT_TRUE(trackers.update({0, 200}));  // tracker 1 is now the first, and keeps what it holds
  EXPECT_FALSE(trackers.open(2));          // of the two others one is taken by tracker 3
  EXPECT_TRUE(trackers.update({3, 100}));
  EXPECT_TRUE(trackers.open(2));
  EXPECT_EQ(trackers.entries_peak(), 4U);
}

TEST(Trackers, StartOverInEveryIteration) {
  const Program program = program_with({1, 1});
  Trackers trackers(program, with_entries(1));
  for (int iteration = 0; iteration < 3; ++iteration) {
    for (const std::uint32_t tracker : {0U, 1U}) {
      EXPECT_FALSE(trackers.open(1 - tracker)) << iteration;
      EXPECT_TRUE(trackers.open(tracker));
      EXPECT_TRUE(trackers.update({tracker, kPiece}));
    }
  }
  EXPECT_EQ(trackers.entries_peak(), 1U);
}

TEST(Trackers, LargerThanTheUnitNeverOpen) {
  const Program program = program_with({3});
  Trackers trackers(program, with_entries(2));
  EXPECT_FALSE(trackers.open(0));
}

}  // namespace trackers_test
}  // namespace cortado::sim
