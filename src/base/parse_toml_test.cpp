#include "base/parse_toml.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/text.hpp"

namespace cortado::internal {
namespace parse_toml_test {

std::string dotted(int parts, const std::string& part = "a", const std::string& dot = ".") {
  return join(std::vector<std::string>(static_cast<std::size_t>(parts), part), dot);
}

Result<toml::table> parsed(const std::string& text) {
  return parse_toml(text, "f.toml", "test.toml");
}

TEST(ParseToml, MistakesNameFileAndLine) {
  const auto result = parsed("a = 1\nb = \n");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, "test.toml");
  EXPECT_EQ(to_string(result.error().place), "f.toml:2");
}

TEST(ParseToml, KeysOfManyPartsAreRefused) {
  const std::string quoted = dotted(kMostKeyParts + 1, "\"a=[\"", " . ");
  for (const std::string& text : {
           dotted(50000) + " = 1",
           "[" + dotted(50000) + "]",
           "[[" + dotted(50000) + "]]",
           "x = [1,\n {" + dotted(50000) + " = 1}]",
           "x = '''\n" + std::string("'''''\n") + dotted(50000) + " = 1",
           "x = \"\"\"a\\\"\"\"\"\n" + dotted(50000) + " = 1",
           "x = '\\'\n" + dotted(50000) + " = 1",
           "# it's\n" + dotted(50000) + " = 1",
           quoted + " = 1",
           dotted(kMostKeyParts + 1) + " = 1",
       }) {
    const auto result = parsed(text);
    ASSERT_FALSE(result) << text.substr(0, 40);
    EXPECT_EQ(result.error().message, "a key has more than 16 parts") << text.substr(0, 40);
  }
  EXPECT_EQ(parsed("a = 1\nb = '''\n\n'''\n" + dotted(50000) + " = 1").error().place.line, 5U);
}

TEST(ParseToml, DotsElsewhereAreNotCounted) {
  const std::string dots = dotted(1000);
  for (const std::string& text : {
           "x = \"" + dots + "\"",
           "x = '" + dots + "'",
           "x = \"\"\"" + dots + "\n\"" + dots + "\"\"\"\"",
           "x = '''" + dots + "\n''" + dots + "'''''",
           "x = \"\\\"" + dots + "\"",
           "x = 1 # " + dots,
           "x = [" + dotted(1000, "1.5", ", ") + "]",
           "'" + dots + "'.b = 1",
           dotted(kMostKeyParts) + " = 1.5",
           "[" + dotted(kMostKeyParts) + "]\n" + dotted(kMostKeyParts, "b") + " = 1",
       }) {
    const auto result = parsed(text);
    EXPECT_TRUE(result) << text.substr(0, 40) << ": " << to_string(result.error());
  }
}

// The deepest text that is allowed: nested values, each under a key with the most parts.
TEST(ParseToml, TheDeepestTextIsReadOrRefused) {
  for (const int depth : {200, 300}) {
    std::string text;
    for (int i = 0; i < depth; ++i) text += (i == 0 ? "" : "{") + dotted(kMostKeyParts) + " = ";
    text += "1" + std::string(static_cast<std::size_t>(depth) - 1, '}');
    EXPECT_EQ(parsed(text).has_value(), depth == 200);
  }
}

}  // namespace parse_toml_test
}  // namespace cortado::internal
