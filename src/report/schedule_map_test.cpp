#include "report/schedule_map.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace cortado::report {
namespace schedule_map_test {

using testing::HasSubstr;

/// Two rows by two depths: b wins clearly, b by 1 %, a; and nothing fits.
ScheduleMap small_map() {
  ScheduleMap map;
  map.collective = "all-gather";
  map.dtype = "bf16";
  map.n = 64;
  map.ranks = 8;
  map.machine = "mi300x-8";
  map.schedules = {"serial", "other"};
  map.letters = "SO";
  map.m = {1024, 3000};
  map.k = {512, 2048};
  map.cells = {{1024, 512, Nanoseconds{1500}, 1, "other/4", {Nanoseconds{1500}, Nanoseconds{1000}}},
               {1024, 2048, Nanoseconds{1010}, 1, "other/8", {Nanoseconds{1010}, Nanoseconds{1000}}},
               {3000, 512, Nanoseconds{1000}, 0, "serial", {Nanoseconds{1000}, std::nullopt}},
               {3000, 2048, {}, std::nullopt, "", {std::nullopt, std::nullopt}}};
  return map;
}

TEST(ScheduleMap, WinnersAndSpeedUps) {
  const ScheduleMap map = small_map();
  EXPECT_EQ(map.at(0, 0).speedup(), 1.5);
  EXPECT_FALSE(map.at(0, 0).is_close());
  EXPECT_TRUE(map.at(0, 1).is_close());
  EXPECT_EQ(map.at(1, 0).speedup(), 1.0);
  EXPECT_FALSE(map.at(1, 0).is_close());
  EXPECT_FALSE(map.at(1, 1).is_close());
  EXPECT_FALSE(map.at(1, 1).speedup());
  EXPECT_EQ(map.won(0), 1U);
  EXPECT_EQ(map.won(1), 2U);
}

TEST(ScheduleMap, SerialThatDoesNotFitIsStillWhatSpeedUpsAreOver) {
  ScheduleMap map = small_map();
  map.cells[0].times[0].reset();
  EXPECT_EQ(map.cells[0].speedup(), 1.5);
}

TEST(ScheduleMap, TextHasTheDeepestProductsOnTop) {
  const std::string text = schedule_map_text(small_map());
  EXPECT_THAT(text, HasSubstr("# all-gather, then M x 64 x K bf16 of its output, on 8 ranks of mi300x-8\n"));
  EXPECT_THAT(text, HasSubstr("#   S serial: 1 of 4\n#   O other: 2 of 4\n"));
  EXPECT_THAT(text, HasSubstr("     K \\ M     1Ki    3000\n"
                              "       2Ki  O~1.01       .\n"
                              "       512  O 1.50  S 1.00\n"));
}

TEST(ScheduleMap, JsonHasAllTimes) {
  const auto document = nlohmann::json::parse(to_json(schedule_map_document(small_map())));
  EXPECT_EQ(document["schema"], "cortado.schedule_map");
  EXPECT_EQ(document["n"], 64);
  ASSERT_EQ(document["cells"].size(), 4U);
  const auto first = document["cells"][0];
  EXPECT_EQ(first["m"], 1024);
  EXPECT_EQ(first["k"], 512);
  EXPECT_EQ(first["winner"], "other");
  EXPECT_EQ(first["choice"], "other/4");
  EXPECT_EQ(first["speedup"], 1.5);
  EXPECT_EQ(first["close"], false);
  EXPECT_EQ(first["times_us"]["serial"], 1.5);
  EXPECT_TRUE(document["cells"][2]["times_us"]["other"].is_null());
  EXPECT_TRUE(document["cells"][3]["winner"].is_null());
}

TEST(ScheduleMap, TheChartIsOverRowsAndDepth) {
  const Document document = schedule_map_document(small_map());
  ASSERT_EQ(document.tables[0].charts.size(), 1U);
  const Chart& chart = document.tables[0].charts[0];
  EXPECT_EQ(chart.kind, Chart::Kind::map);
  EXPECT_THAT(chart.labels, testing::ElementsAre("m", "k"));
  EXPECT_THAT(chart.values, testing::ElementsAre("winner"));
  EXPECT_EQ(document.tables[0].rows.size(), small_map().cells.size());
}

}  // namespace schedule_map_test
}  // namespace cortado::report
