#include "base/json.hpp"

#include <limits>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace cortado::json_value_test {

TEST(JsonValueTest, WritesWhatNlohmannWrites) {
  const char* const texts[] = {
      R"({"a":[1,-2,2.5,1e300,1e-7,100000.0,0.1,123456789012345680.0,-0.0],"b":{"c":null,"d":true,"e":[]},"f":{}})",
      R"(["\"\\/\b\f\n\r\t","\u0001","ä","\ud83d\ude00",""])",
      R"([18446744073709551615,-9223372036854775808,9007199254740993.0])",
      R"("text")",
  };
  for (const std::string text : texts) {
    const auto expected = nlohmann::ordered_json::parse(text);
    const Json json = Json::parse(text).value();
    EXPECT_EQ(json.dump(), expected.dump());
    EXPECT_EQ(json.dump(2), expected.dump(2));
    EXPECT_EQ(json.dump(-1, true), expected.dump(-1, ' ', true));
  }
  EXPECT_EQ(Json(std::numeric_limits<double>::infinity()).dump(), "null");
  EXPECT_EQ(Json("\xff!").dump(), "\"\xEF\xBF\xBD!\"");
}

TEST(JsonValueTest, BracesAreAnObjectIfAllPartsArePairsWithANameElseAList) {
  EXPECT_EQ((Json{{"name", "ag"}, {"ranks", 8}, {"in", {{"a", 1.5}}}}).dump(),
            R"({"name":"ag","ranks":8,"in":{"a":1.5}})");
  EXPECT_EQ((Json{{1, 2}, {"a", 2}}).dump(), R"([[1,2],["a",2]])");
  EXPECT_EQ(Json(std::vector<std::string>{"x", "y"}).dump(), R"(["x","y"])");
}

TEST(JsonValueTest, KeysKeepTheirOrderAndTheLastValueCounts) {
  Json json = Json::parse(R"({"z":1,"a":2,"z":3})").value();
  EXPECT_EQ(json.dump(), R"({"z":3,"a":2})");
  json.update({{"b", 4}, {"z", 5}});
  json.erase("a");
  EXPECT_EQ(json.dump(), R"({"z":5,"b":4})");
  EXPECT_EQ(json.find("a"), nullptr);
}

TEST(JsonValueTest, RefusesRepeatedKeysAndDeepNestingWhereTheRulesSaySo) {
  const JsonRules strict{.most_nesting = 2, .repeated_keys = false};
  EXPECT_EQ(Json::parse(R"({"a":1,"a":2})", strict).error().message, "the key \"a\" appears twice in one object");
  EXPECT_EQ(Json::parse("[[[]]]", strict).error().message, "the text is nested deeper than 2");
  EXPECT_TRUE(Json::parse("[[1]]", strict));
  std::string many = "{";
  for (int i = 0; i < 100; ++i) many += fmt::format("\"{}\":0,", i);
  EXPECT_TRUE(Json::parse(many + "\"x\":0}", strict));
  EXPECT_FALSE(Json::parse(many + "\"99\":0}", strict));
  EXPECT_FALSE(Json::parse(many + "\"7\":0}", strict));
}

TEST(JsonValueTest, BrokenTextHasAPosition) {
  const auto broken = Json::parse("[1,\n x]");
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().position, 6U);  // the x
  EXPECT_FALSE(Json::parse(""));
}

}  // namespace cortado::json_value_test
