#include "reproduce/reproduction.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace cortado::report {
namespace reproduction_test {

using testing::HasSubstr;
using testing::Not;

/// Two sizes and two columns; one point left out. Errors: +10 %, -20 %, +50 %.
Reproduction small_reproduction() {
  ReproducedTable table;
  table.published.name = "all-gather";
  table.published.title = "Speed-up <of> variants";
  table.published.unit = "x";
  table.published.used_for = published::UsedFor::calibration;
  table.published.goal_mean = 30;
  table.published.goal_worst = 40;
  table.published.columns = {"bcst", "b2b"};
  table.published.sizes = {1_KiB, 2_KiB};
  table.published.values = {{2.0, 1.0}, {std::nullopt, 4.0}};
  table.ours = {{2.2, 0.8}, {3.0, 6.0}};
  ReproducedFigure figure;
  figure.published.name = "geomean";
  figure.published.title = "Geomean";
  figure.published.unit = "x";
  figure.published.published = 3.2;
  figure.published.goal = 5;
  figure.ours = 3.04;
  return {"p", "Title", "where", "mi300x-8", {table}, {figure}};
}

TEST(Reproduction, ErrorsAreRelativeToThePublishedNumberAndLeaveOutWhatIsLeftOut) {
  const ReproducedTable table = small_reproduction().tables[0];
  const auto rows = table.rows();
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].item, "all-gather 1KiB bcst");
  EXPECT_NEAR(rows[0].error, 10, 1e-9);
  EXPECT_NEAR(rows[1].error, -20, 1e-9);
  EXPECT_NEAR(rows[2].error, 50, 1e-9);
  EXPECT_NEAR(table.mean_error(), 80.0 / 3, 1e-9);
  EXPECT_NEAR(table.worst_error(), 50, 1e-9);
  EXPECT_EQ(table.goal(), Goal::missed);  // 50 > 40
}

TEST(Reproduction, SharesAreComparedInPoints) {
  ReproducedTable table = small_reproduction().tables[0];
  table.published.errors = published::Errors::points;
  EXPECT_NEAR(table.rows()[2].error, 2, 1e-9);
  EXPECT_EQ(table.goal(), Goal::reached);
}

TEST(Reproduction, NothingWithinAPublishedRangeIsAnError) {
  ReproducedFigure figure = small_reproduction().figures[0];
  figure.published.unit = "%";
  figure.published.published = 0;
  figure.published.published_to = 10;
  figure.published.errors = published::Errors::points;
  figure.published.goal = 0;
  const auto error = [&](double ours) {
    figure.ours = ours;
    return figure.row().error;
  };
  EXPECT_EQ(error(0), 0);
  EXPECT_EQ(error(10), 0);
  EXPECT_EQ(error(4), 0);
  EXPECT_EQ(figure.goal(), Goal::reached);
  EXPECT_EQ(error(12), 2);
  EXPECT_EQ(error(-3), -3);
  EXPECT_EQ(figure.goal(), Goal::missed);
  Reproduction one = small_reproduction();
  one.figures = {figure};
  EXPECT_THAT(reproduction_text({one}), HasSubstr("0 to 10"));
  EXPECT_THAT(reproduction_text({one}), HasSubstr("-3.0 points"));
  EXPECT_THAT(to_html(reproduction_page(one)), HasSubstr("0 to 10"));
}

TEST(Reproduction, TablesOfOursStandBehindWhatWasPublished) {
  Reproduction one = small_reproduction();
  one.own = {own_table("by-class", "By class", {{"class"}, {"bound"}, {"share", 1}})};
  one.own[0].add({"G-long", "compute", 12.345});
  const auto document = nlohmann::json::parse(reproduction_json({one}));
  const auto row = document["reproductions"][0]["own"][0]["rows"][0];
  EXPECT_EQ(row["class"], "G-long");
  EXPECT_EQ(row["bound"], "compute");
  EXPECT_EQ(row["share"], 12.345);
  EXPECT_THAT(reproduction_text({one}), HasSubstr("G-long  compute   12.3\n"));
  EXPECT_THAT(reproduction_markdown({one}), HasSubstr("| G-long | compute | 12.3 |\n"));
  EXPECT_THAT(to_html(reproduction_page(one)), HasSubstr(">12.3</td>"));
  ASSERT_NE(one.own_table("by-class"), nullptr);
  EXPECT_EQ(one.own_table("by-size"), nullptr);
  ASSERT_NE(one.figure("geomean"), nullptr);
  EXPECT_EQ(one.figure("mean"), nullptr);
}

TEST(Reproduction, TwoColumnsOfOneNameAreNoTable) {
  Reproduction one = small_reproduction();
  one.own = {own_table("by-class", "By class", {{"class"}, {"energy", 1}, {"energy", 1}})};
  one.own[0].add({"G-long", 1.0, 2.0});
  EXPECT_DEATH(reproduction_json({one}), "one name");
}

TEST(Reproduction, WithoutAGoalNothingIsReached) {
  const auto reached = [](const Reproduction& one) {
    const auto document = nlohmann::json::parse(reproduction_json({one}))["reproductions"][0];
    return std::vector<nlohmann::json>{document["reached"], document["tables"][0]["reached"],
                                       document["figures"][0]["reached"]};
  };
  Reproduction one = small_reproduction();
  one.figures[0].ours = 3.2;
  EXPECT_THAT(reached(one), testing::ElementsAre(false, false, true));
  one.tables[0].published.goal_worst.reset();
  EXPECT_THAT(reached(one), testing::ElementsAre(true, true, true));
  one.tables[0].published.goal_mean.reset();
  EXPECT_THAT(reached(one), testing::ElementsAre(true, nullptr, true));
  one.figures[0].ours = 6;
  EXPECT_THAT(reached(one), testing::ElementsAre(false, nullptr, false));
  one.figures[0].published.goal.reset();
  EXPECT_THAT(reached(one), testing::ElementsAre(nullptr, nullptr, nullptr));
}

TEST(Reproduction, AGoalOfAFigureIsInPercent) {
  ReproducedFigure figure = small_reproduction().figures[0];
  EXPECT_NEAR(figure.row().error, -5, 1e-9);
  figure.ours = 3.0;
  EXPECT_EQ(figure.goal(), Goal::missed);  // -6.25 %
}

TEST(Reproduction, TheTextSaysWhatIsMissed) {
  const std::string text = reproduction_text({small_reproduction()});
  EXPECT_THAT(text, HasSubstr("2.00 / 2.20"));
  EXPECT_THAT(text, HasSubstr("- / 3.00"));
  EXPECT_THAT(text, HasSubstr("worst 50.0 % (goal 40): MISSED"));
  EXPECT_THAT(reproduction_markdown({small_reproduction()}), HasSubstr("| 1KiB | 2.00 / 2.20 | 1.00 / 0.80 |"));
}

TEST(Reproduction, JsonHasOneRowForEachNumber) {
  const auto document = nlohmann::json::parse(reproduction_json({small_reproduction()}));
  const auto& rows = document["reproductions"][0]["rows"];
  ASSERT_EQ(rows.size(), 4U);  // three of the table, one figure
  EXPECT_EQ(rows[1]["item"], "all-gather 1KiB b2b");
  EXPECT_EQ(rows[1]["used_for"], "calibration");
  EXPECT_NEAR(rows[1]["error_pct"].get<double>(), -20, 1e-9);
  EXPECT_EQ(rows[3]["used_for"], "validation");
}

TEST(Reproduction, ThePageHasEveryPointOfATable) {
  const Reproduction one = small_reproduction();
  const Document page = reproduction_page(one);
  const Table& points = page.tables[1];  // after the figures
  ASSERT_EQ(points.charts.size(), 1U);
  EXPECT_EQ(points.charts[0].published, "published");
  const auto find = [&](const std::string& what, std::int64_t bytes) {
    for (std::size_t i = 0; i < points.rows.size(); ++i) {
      if (points.rows[i][1].text({}) == what && std::get<std::int64_t>(points.rows[i][0].value()) == bytes) return i;
    }
    return points.rows.size();
  };
  ASSERT_LT(find("b2b", 2048), points.rows.size());
  EXPECT_EQ(std::get<double>(points.at(find("b2b", 2048), "ours").value()), 6);
  EXPECT_EQ(std::get<double>(points.at(find("b2b", 2048), "published").value()), 4);
  EXPECT_TRUE(points.at(find("bcst", 2048), "published").empty());  // left out
  EXPECT_THAT(to_html(page), HasSubstr("Speed-up &lt;of&gt; variants"));
  EXPECT_THAT(to_html(page), Not(HasSubstr("<of>")));
}

}  // namespace reproduction_test
}  // namespace cortado::report
