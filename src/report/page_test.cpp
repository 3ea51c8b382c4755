#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cortado/report.hpp"

namespace cortado::report::page_test {
namespace {

using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

/// What would end or open an element, a string, an attribute or a comment.
constexpr const char* kHostile = "</script><script>alert(1)</script><!-- \"'&\x1b\n\\";

Document times(const std::string& name) {
  Document document{.schema = "cortado.times", .version = 3, .title = name, .about = {name}};
  document.facts = {{"machine", name, "modelled machine", true}, {"alone.time_us", 7.5, "a copy alone"}};
  Table table{.columns = {{.key = "name", .head = "na- me"},
                          {.key = "bytes", .head = "size", .unit = "B"},
                          {.key = "time.us", .head = "time", .unit = "ms", .digits = 2, .scale = 1e-3},
                          {.key = "energy_J", .view = View::data}},
              .charts = {{.title = name, .values = {"time.us"}, .labels = {"name"}, .about = name}}};
  table.add({name, Cell(4096).shown_as("4KiB"), 1234.5678901234567, 0.1});
  table.add({"b", 1, Cell(), Cell()});
  document.tables = {table};
  document.notes = {name};
  document.answer = {name};
  return document;
}

/// What is between the element with the attribute and the next end of a script.
std::string element(const std::string& page, const std::string& attribute) {
  const std::size_t from = page.find('>', page.find("<script type=\"application/json\"" + attribute)) + 1;
  return page.substr(from, page.find("</script>", from) - from);
}

std::size_t count(const std::string& page, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = page.find(what); at != std::string::npos; at = page.find(what, at + 1)) ++found;
  return found;
}

TEST(Page, HasTheValuesOfTheJsonAndTheTextsOfTheTerminal) {
  const Document document = times("a");
  const Json data = Json::parse(element(to_html(document), " id=\"data\""));
  const Json& one = data["documents"][0];
  const Json answer = Json::parse(to_json(document));
  EXPECT_EQ(one["schema"], answer["schema"]);
  EXPECT_EQ(one["version"], answer["version"]);
  EXPECT_EQ(one["facts"][1]["key"], "alone.time_us");
  EXPECT_EQ(one["facts"][1]["value"], answer["alone"]["time_us"]);
  const Json& table = one["tables"][0];
  EXPECT_EQ(table["rows"][0][0], answer["rows"][0]["name"]);
  EXPECT_EQ(table["rows"][0][1]["value"], answer["rows"][0]["bytes"]);
  EXPECT_EQ(table["rows"][0][1]["text"], "4KiB");
  EXPECT_EQ(table["rows"][0][2].get<double>(), answer["rows"][0]["time"]["us"].get<double>());
  EXPECT_EQ(table["rows"][0][3], 0.1);
  EXPECT_TRUE(table["rows"][1][2].is_null());
  EXPECT_EQ(table["columns"][0]["head"], "name");
  EXPECT_EQ(table["columns"][2]["scale"], 1e-3);
  EXPECT_EQ(table["columns"][3]["data"], true);
  EXPECT_EQ(table["charts"][0]["kind"], "bars");
  EXPECT_EQ(table["charts"][0]["values"], Json::array({"time.us"}));
}

TEST(Page, TablesStandThereWithoutAScript) {
  const std::string page = to_html(times("a"));
  EXPECT_THAT(page, HasSubstr("<th scope=\"col\">time, ms</th>"));
  EXPECT_THAT(page, HasSubstr("<td class=\"num\">1.23</td>"));
  EXPECT_THAT(page, HasSubstr("<td class=\"num\">4KiB</td>"));
  EXPECT_THAT(page, HasSubstr("All numbers are predicted."));
  Document measured = times("a");
  measured.measured = true;
  EXPECT_THAT(to_html(measured), HasSubstr("All numbers are measured."));
}

TEST(Page, HostileTextsStayTexts) {
  Document document = times(kHostile);
  document.timelines = {{kHostile, Json{{"traceEvents", Json::array({{{"name", kHostile}}})}}.dump()}};
  const std::string page = to_html(document, {.command = kHostile, .version = kHostile, .date = kHostile});
  const std::string plain = to_html(times("a"));
  // One element more, that of the timeline.
  EXPECT_EQ(count(page, "</script"), count(plain, "</script") + 1);
  EXPECT_EQ(count(page, "<script"), count(plain, "<script") + 1);
  EXPECT_EQ(count(page, "<!--"), count(plain, "<!--"));
  EXPECT_THAT(page, Not(HasSubstr("\x1b")));
  const Json data = Json::parse(element(page, " id=\"data\""));
  EXPECT_EQ(data["command"], kHostile);
  EXPECT_EQ(data["documents"][0]["tables"][0]["rows"][0][0], kHostile);
  EXPECT_EQ(Json::parse(element(page, " class=\"timeline\""))["traceEvents"][0]["name"], kHostile);
}

TEST(Page, WithoutItsScriptItSaysWhatIsLeftOut) {
  const std::string page = to_html(times("a"));
  const bool drawn = count(page, "<script>") == 1;  // an npm built it
  EXPECT_EQ(count(page, "Charts and timelines are left out of this page: "), drawn ? 0U : 1U);
  EXPECT_EQ(count(page, "<noscript>"), drawn ? 1U : 0U);
  EXPECT_EQ(count(page, "script-src 'none'"), drawn ? 0U : 1U);
}

TEST(Page, SaysWhereItComesFrom) {
  const std::string page = to_html(times("a"), {.command = "cortado x", .version = "1.2", .date = "2026-01-01"});
  EXPECT_THAT(page, HasSubstr("<code>cortado x</code>"));
  EXPECT_THAT(page, HasSubstr("Cortado 1.2, 2026-01-01"));
}

TEST(Page, NothingIsFetched) {
  const std::string page = to_html(times("a"));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, Not(HasSubstr("src=\"")));
  EXPECT_THAT(page, HasSubstr("href=\"data:,\""));
  EXPECT_EQ(count(page.substr(0, page.find("<script")), "href="), 1U);
}

TEST(Page, LongTablesSayWhatIsLeftOut) {
  Document document = times("a");
  Table& table = document.tables[0];
  while (table.rows.size() < 100'001) table.rows.push_back(table.rows[1]);
  const std::string page = to_html(document);
  EXPECT_THAT(page, HasSubstr("The first 200 of 100001 rows."));
  EXPECT_THAT(page, HasSubstr("this page has the first 100000 of 100001 rows"));
  const Json data = Json::parse(element(page, " id=\"data\""));
  EXPECT_EQ(data["documents"][0]["tables"][0]["rows"].size(), 100'000U);
  EXPECT_EQ(data["documents"][0]["tables"][0]["count"], 100'001);
  EXPECT_THAT(page_limits(document), testing::ElementsAre("this page has the first 100000 of 100001 rows"));
}

TEST(Page, LongTimelinesAreLeftOutAndTold) {
  Document document = times("a");
  EXPECT_TRUE(page_limits(document).empty());
  document.timelines = {{"choice", std::string(std::size_t{49} << 20, ' ')}};
  EXPECT_THAT(page_limits(document),
              testing::ElementsAre("the timeline of choice is too long for a page (49 MB): write "
                                   "it with --trace"));
  EXPECT_LT(to_html(document).size(), std::size_t{8} << 20);
}

TEST(Page, HasSeveralAnswers) {
  const std::string page = to_html("Both", {times("first"), times("second")});
  EXPECT_THAT(page, HasSubstr("<h1>Both</h1>"));
  EXPECT_THAT(page, HasSubstr("<h2>second</h2>"));
  EXPECT_EQ(Json::parse(element(page, " id=\"data\""))["documents"].size(), 2U);
}

TEST(PageDeath, AChartIsOfColumnsThatExist) {
  Document document = times("a");
  document.tables[0].charts[0].values = {"time_us"};
  EXPECT_DEATH(to_html(document), "column that is asked for");
}

}  // namespace
}  // namespace cortado::report::page_test
