#include "verify/interval_map.hpp"

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace cortado::verifier {
namespace interval_map_test {

/// A number that grows by one a position, so that [4, 8) -> 40 means 40, 41, 42, 43.
struct Ramp {
  int value = -1;
  Ramp advanced_by(std::uint64_t n) const { return {value + static_cast<int>(n)}; }
  bool continues(const Ramp& next, std::uint64_t n) const { return next.value == value + static_cast<int>(n); }
};

constexpr std::uint64_t kSize = 32;
using Plain = std::array<std::optional<int>, kSize>;

Plain contents(const IntervalMap<Ramp>& map) {
  Plain plain;
  std::uint64_t expected_begin = 0;
  map.visit(0, kSize, [&](std::uint64_t begin, std::uint64_t end, const Ramp* ramp) {
    EXPECT_EQ(begin, expected_begin);
    EXPECT_LT(begin, end);
    expected_begin = end;
    for (std::uint64_t i = begin; i < end && ramp != nullptr; ++i) plain[i] = ramp->value + static_cast<int>(i - begin);
  });
  EXPECT_EQ(expected_begin, kSize);
  return plain;
}

TEST(IntervalMap, JoinsNeighboursThatContinue) {
  IntervalMap<Ramp> map;
  map.assign(0, 4, {10});
  map.assign(8, 12, {18});
  EXPECT_EQ(map.size(), 2U);
  map.assign(4, 8, {14});  // 10..13, 14..17, 18..21
  EXPECT_EQ(map.size(), 1U);
}

TEST(IntervalMap, SplitsWhatIsOverwrittenInTheMiddle) {
  IntervalMap<Ramp> map;
  map.assign(0, 12, {0});
  map.assign(4, 6, {100});
  EXPECT_EQ(map.size(), 3U);
  EXPECT_EQ(contents(map)[6], 6);  // the rest keeps its own count
  map.erase(5, 12);
  EXPECT_EQ(contents(map)[4], 100);
  EXPECT_EQ(contents(map)[5], std::nullopt);
}

TEST(IntervalMap, MapsShareAPool) {
  NodePool pool;
  std::vector<IntervalMap<Ramp>> maps(3, IntervalMap<Ramp>(&pool));
  for (std::uint64_t i = 0; i < kSize; i += 2) {
    for (IntervalMap<Ramp>& map : maps) map.assign(i, i + 1, {static_cast<int>(3 * i)});
  }
  maps[1].erase(0, kSize);
  maps.push_back(maps[0].mapped([](const Ramp& ramp) { return Ramp{ramp.value + 1}; }));
  maps[1] = std::move(maps[2]);
  EXPECT_EQ(maps[1].size(), kSize / 2);
  EXPECT_EQ(contents(maps[1])[4], 12);
  EXPECT_EQ(contents(maps[3])[4], 13);
}

TEST(IntervalMap, EmptyIntervalsChangeNothing) {
  IntervalMap<Ramp> map;
  map.assign(3, 3, {1});
  map.erase(3, 3);
  map.update(3, 3, [](std::uint64_t, std::uint64_t, Ramp&) { FAIL(); });
  EXPECT_EQ(map.size(), 0U);
}

TEST(IntervalMap, UpdateFillsGapsWithTheDefault) {
  IntervalMap<Ramp> map;
  map.assign(4, 8, {4});
  int calls = 0;
  map.update(2, 10, [&](std::uint64_t, std::uint64_t, Ramp& ramp) {
    ++calls;
    if (ramp.value == -1) ramp.value = 50;
  });
  EXPECT_EQ(calls, 3);  // a gap, the piece, a gap
  EXPECT_EQ(contents(map)[2], 50);
  EXPECT_EQ(contents(map)[5], 5);
  EXPECT_EQ(contents(map)[8], 50);
  EXPECT_EQ(contents(map)[10], std::nullopt);
}

TEST(IntervalMap, AgreesWithAnArrayUnderRandomChanges) {
  Random random(11);
  IntervalMap<Ramp> map;
  Plain plain;
  for (int round = 0; round < 2000; ++round) {
    const std::uint64_t begin = random.below(kSize);
    const std::uint64_t end = begin + random.below(kSize - begin + 1);
    if (random.chance(3)) {
      map.erase(begin, end);
      for (std::uint64_t i = begin; i < end; ++i) plain[i].reset();
    } else {
      const int value = static_cast<int>(begin + random.below(2) * 100);  // often continues its neighbours
      map.assign(begin, end, {value});
      for (std::uint64_t i = begin; i < end; ++i) plain[i] = value + static_cast<int>(i - begin);
    }
    ASSERT_EQ(contents(map), plain) << "round " << round;
  }
}

}  // namespace interval_map_test
}  // namespace cortado::verifier
