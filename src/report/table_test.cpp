#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cortado/report.hpp"

namespace cortado::report::table_test {
namespace {

using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

struct Copy {
  std::string name;
  Bytes bytes;
  std::optional<double> time_us;
  double share = 0;
};

Document copies(const std::vector<Copy>& rows) {
  Document document{.schema = "cortado.copies", .version = 2, .title = "copies"};
  document.facts = {{"machine", "m8", "modelled machine", true}, {"alone.time_us", 7.5, "a copy alone"}};
  document.tables.push_back(table_of<Copy>(
      "rows", "one per copy",
      {{{.key = "name", .head = "name", .meaning = "of the copy"}, [](const Copy& c) { return c.name; }},
       {{.key = "bytes", .head = "size", .unit = "B", .meaning = "moved"}, [](const Copy& c) { return c.bytes; }},
       {{.key = "time_us", .head = "time", .unit = "us", .digits = 2, .meaning = "taken"},
        [](const Copy& c) { return c.time_us; }},
       {{.key = "share", .head = "of ideal", .unit = "%", .meaning = "of ideal", .view = View::wide, .scale = 100},
        [](const Copy& c) { return c.share; }}},
      rows));
  return document;
}

std::size_t widest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t widest = 0;
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, line.size());
  return widest;
}

TEST(Table, TextAlignsColumnsAndLeavesOutWideOnes) {
  Document document = copies({{"a", {65536}, 12.345, 0.5}, {"longer", {1}, 3, 0}});
  document.about = {"of a test"};
  document.notes = {"a note"};
  document.answer = {"use a"};
  EXPECT_EQ(to_text(document),
            "# copies\n"
            "# of a test\n"
            "         size   time\n"
            "name        B     us\n"
            "a       65536  12.35\n"
            "longer      1   3.00\n"
            "# a note\n"
            "use a\n");
  EXPECT_EQ(to_text(document.tables[0], {.wide = true}),
            "                         of\n"
            "         size   time  ideal\n"
            "name        B     us      %\n"
            "a       65536  12.35     50\n"
            "longer      1   3.00      0\n");
}

TEST(Table, MarkedHeadingsBeginWithAHash) {
  Table table{.columns = {{.key = "bytes", .head = "size", .unit = "B"}, {.key = "name", .head = "name"}}};
  table.add({65536, "a"});
  EXPECT_EQ(to_text(table, {.mark_heading = true}),
            "#size\n"
            "#   B  name\n"
            "65536  a\n");
}

TEST(Table, ColumnsWithoutAnyValueAreNotShown) {
  EXPECT_EQ(to_text(copies({{"a", {1}, {}, 0}}).tables[0]), "      size\nname     B\na        1\n");
  EXPECT_THAT(to_text(copies({{"a", {1}, {}, 0}, {"b", {1}, 1, 0}}).tables[0]), HasSubstr("a        1     -\n"));
}

TEST(Table, ATableWithoutRowsHasItsHeading) {
  const Document document = copies({});
  EXPECT_EQ(to_text(document), "# copies\n      size  time\nname     B    us\n");
  EXPECT_EQ(to_csv(document), "machine,name,bytes,time_us,share\n");
  EXPECT_EQ(to_markdown(document.tables[0]), "| name | size B | time us | of ideal % |\n| --- | --- | --- | --- |\n");
  EXPECT_EQ(Json::parse(to_json(document))["rows"], Json::array());
  EXPECT_THAT(to_html(document), HasSubstr(">time, us</th>"));
}

TEST(Table, LongTextIsFoldedToTheWidth) {
  Table table{
      .columns = {{.key = "name", .head = "name"}, {.key = "summary", .head = "summary"}, {.key = "n", .head = "n"}}};
  std::string words;
  for (int i = 0; i < 60; ++i) words += "word ";
  table.add({"x", words, 7});
  const std::string text = to_text(table, {.width = 40});
  EXPECT_LE(widest_line(text), 40U);
  EXPECT_GT(widest_line(text), 30U);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + 10);  // six words a line
  EXPECT_GT(widest_line(to_text(table, {.wide = true})), 300U);
}

TEST(Table, NamesThatCannotBeFoldedKeepTheirColumn) {
  Table table{.columns = {{.key = "name", .head = "name"}, {.key = "n", .head = "n"}}};
  table.add({std::string(30, 'x'), 1});
  table.add({"short", 2});
  EXPECT_EQ(to_text(table, {.width = 20}),
            "name" + std::string(28, ' ') + "n\n" + std::string(30, 'x') + "  1\nshort" + std::string(27, ' ') + "2\n");
}

TEST(Table, NotesAreFoldedToTheWidth) {
  Document document = copies({{"a", {1}, 1, 0}});
  document.title = std::string(60, 'x') + " " + std::string(70, 'y');
  document.answer = {std::string(100, 'x') + " " + std::string(30, 'y')};
  EXPECT_LE(widest_line(to_text(document)), kNarrow);
  EXPECT_THAT(to_text(document), HasSubstr("x\n# y"));
  EXPECT_EQ(widest_line(to_text(document, {.wide = true})), 133U);
}

TEST(Table, LinesComeOneByOneInColumnsOfGivenWidth) {
  const Table table{.columns = {{.key = "bytes", .head = "size", .unit = "B", .width = 8},
                                {.key = "variant", .head = "variant", .width = 9, .align = Align::left}}};
  const TableLines lines(table, {.mark_heading = true});
  EXPECT_EQ(lines.heading(), "# size B  variant\n");
  EXPECT_EQ(lines.line({1024, "b2b"}), "    1024  b2b\n");
}

TEST(Table, NumbersAreWrittenAsTheirColumnSays) {
  const auto text = [](Cell cell, Notation notation, int digits) {
    return cell.text({.key = "x", .digits = digits, .notation = notation});
  };
  EXPECT_EQ(text(1.25, Notation::fixed, 1), "1.2");
  EXPECT_EQ(text(Cell(1.26).with_digits(3), Notation::fixed, 1), "1.260");
  EXPECT_EQ(text(1.26, Notation::with_sign, 1), "+1.3");
  EXPECT_EQ(text(-0.01, Notation::with_sign, 1), "0.0");
  EXPECT_EQ(text(0.0123456, Notation::significant, 4), "0.01235");
  EXPECT_EQ(text(12.0, Notation::significant, 4), "12.00");
  EXPECT_EQ(text(999.94, Notation::significant, 4), "999.9");
  EXPECT_EQ(text(999.96, Notation::significant, 4), "1000");
  EXPECT_EQ(text(123456.7, Notation::significant, 4), "123457");
  EXPECT_EQ(text(750.0, Notation::shortest, 4), "750");
  EXPECT_EQ(text(7, Notation::fixed, 2), "7");
  EXPECT_EQ(text(Cell(0).shown_as("dma"), Notation::fixed, 2), "dma");
  EXPECT_EQ(text(Cell(-0.04), Notation::fixed, 1), "0.0");
  EXPECT_EQ(text(Cell(-0.06), Notation::fixed, 1), "-0.1");
  EXPECT_EQ(text(true, Notation::fixed, 0), "yes");
  EXPECT_EQ(text(Cell::List{"a", "b"}, Notation::fixed, 0), "a, b");
}

TEST(Table, JsonHasSchemaFactsAndUnroundedRows) {
  const Json json = Json::parse(to_json(copies({{"a", {65536}, 12.345, 0.5}})));
  EXPECT_EQ(json["schema"], "cortado.copies");
  EXPECT_EQ(json["version"], 2);
  EXPECT_EQ(json["machine"], "m8");
  EXPECT_EQ(json["alone"], (Json{{"time_us", 7.5}}));
  EXPECT_EQ(json["rows"], (Json{{{"name", "a"}, {"bytes", 65536}, {"time_us", 12.345}, {"share", 0.5}}}));
}

TEST(Table, ObjectsOfWhichNothingIsKnownAreNull) {
  Document document{.schema = "x"};
  Table table{.columns = {{.key = "part.a"}, {.key = "part.b"}}};
  table.add({1, Cell()});
  table.add({Cell(), Cell()});
  document.tables.push_back(table);
  const Json rows = Json::parse(to_json(document))["rows"];
  EXPECT_EQ(rows[0], (Json{{"part", {{"a", 1}, {"b", nullptr}}}}));
  EXPECT_EQ(rows[1], (Json{{"part", nullptr}}));
}

TEST(Table, AValueWhoseNameBeginsOthersIsNoObject) {
  Document document{.schema = "x"};
  Table table{.columns = {{.key = "part.a"}, {.key = "part"}, {.key = "part.a.b"}, {.key = "other.a"}}};
  table.add({1, 2, 3, 4});
  document.tables.push_back(table);
  EXPECT_EQ(Json::parse(to_json(document))["rows"][0],
            (Json{{"part", 2}, {"part.a", 1}, {"part.a.b", 3}, {"other", {{"a", 4}}}}));
}

TEST(Table, NumbersThatAreNoneAreEmpty) {
  for (const double value : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    const Document document = copies({{"a", {1}, value, 0}, {"b", {1}, 1, 0}});
    EXPECT_TRUE(Json::parse(to_json(document))["rows"][0]["time_us"].is_null());
    EXPECT_THAT(to_csv(document), HasSubstr("m8,a,1,,0\n"));
    EXPECT_THAT(to_text(document), HasSubstr("a        1     -\n"));
  }
}

TEST(Table, CsvQuotesWhatNeedsIt) {
  EXPECT_EQ(to_csv(copies({{"a \"b\", c", {1}, 0.1, 0.25}})),
            "machine,name,bytes,time_us,share\n"
            "m8,\"a \"\"b\"\", c\",1,0.1,0.25\n");
}

TEST(Table, MarkdownEscapesPipes) {
  EXPECT_THAT(to_markdown(copies({{"a|b\nc", {1}, 1, 0}}).tables[0]), HasSubstr("| a\\|b c | 1 | 1.00 | 0 |\n"));
}

TEST(Table, TheReferenceHasEveryKeyWithItsMeaning) {
  const std::string text = json_reference(copies({}));
  EXPECT_THAT(text, HasSubstr("| `schema`, `version` | `cortado.copies`, 2 |\n"));
  EXPECT_THAT(text, HasSubstr("| `alone.time_us` | a copy alone |\n"));
  EXPECT_THAT(text, HasSubstr("| `rows` | one per copy |\n"));
  EXPECT_THAT(text, HasSubstr("Rows of `rows`:\n\n| field | meaning |\n|---|---|\n| `name` | of the copy |\n"));
}

TEST(TableDeath, RowsHaveOneCellAColumn) {
  Table table{.columns = {{.key = "a"}}};
  EXPECT_DEATH(table.add({1, 2}), "as many cells");
}

}  // namespace
}  // namespace cortado::report::table_test
