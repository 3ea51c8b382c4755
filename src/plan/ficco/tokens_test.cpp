#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cortado/plan.hpp"

namespace cortado {
namespace tokens_test {

using testing::ElementsAre;

std::string error_of(const Result<TokenTable>& table) {
  return table ? "accepted" : to_string(table.error());
}

TEST(Tokens, ATableIsALineASenderAndANumberAReceiver) {
  const auto commas = parse_tokens("# rank 0 first\n40, 8 ,0\n\n12,20,16 # busy\r\n 0,16,32", "t.csv");
  ASSERT_TRUE(commas) << error_of(commas);
  EXPECT_THAT(*commas, ElementsAre(ElementsAre(40, 8, 0), ElementsAre(12, 20, 16), ElementsAre(0, 16, 32)));
  const auto blanks = parse_tokens("1 2\n3\t 4\n", "t.csv");
  ASSERT_TRUE(blanks) << error_of(blanks);
  EXPECT_THAT(*blanks, ElementsAre(ElementsAre(1, 2), ElementsAre(3, 4)));
}

TEST(Tokens, WrongTablesAreRefusedWithTheirLine) {
  const auto wrong = [](std::string_view text) { return error_of(parse_tokens(text, "t.csv")); };
  EXPECT_EQ(
      wrong("1,2\n\n3,x\n"),
      "ficco.tokens: t.csv:3: 'x' is not a number of rows (hint: use whole numbers from 0 up, separated by commas)");
  EXPECT_THAT(wrong("1,-2\n3,4\n"), testing::HasSubstr("t.csv:1: '-2' is not a number"));
  EXPECT_THAT(wrong("1,2.5\n3,4\n"), testing::HasSubstr("t.csv:1: '2.5' is not a number"));
  EXPECT_THAT(wrong("1,2\n3,\n"), testing::HasSubstr("t.csv:2: '' is not a number"));
  EXPECT_THAT(wrong("1,,2\n"), testing::HasSubstr("t.csv:1: '' is not a number"));
  EXPECT_THAT(wrong("1 2,3\n"), testing::HasSubstr("t.csv:1: '1 2' is not a number"));
  EXPECT_THAT(wrong("99999999999999999999,1\n"), testing::HasSubstr("'99999999999999999999' is not a number"));
  EXPECT_THAT(wrong("# 3 lines\n1,2,3\n1,2\n1,2,3\n"), testing::HasSubstr("t.csv:3: 2 numbers in a table of 3 lines"));
  EXPECT_THAT(wrong("1,2\n"), testing::HasSubstr("t.csv:1: 2 numbers in a table of 1 lines"));
  EXPECT_THAT(wrong("# nothing\n"), testing::HasSubstr("ficco.tokens: t.csv: the table has no numbers"));
}

// Ten rows are four, three and three of the senders; cuts at 3/5 and 4/5 of each, rounded down.
TEST(Tokens, SharesDivideTheRowsOfEverySender) {
  EXPECT_TRUE(looks_like_shares("3:1:1"));
  EXPECT_TRUE(looks_like_shares("nan:1:1"));
  EXPECT_FALSE(looks_like_shares("3"));
  EXPECT_FALSE(looks_like_shares("tokens.csv"));
  const auto table = tokens_by_shares("3:1:1", 10);
  ASSERT_TRUE(table) << error_of(table);
  EXPECT_THAT(*table, ElementsAre(ElementsAre(2, 1, 1), ElementsAre(1, 1, 1), ElementsAre(1, 1, 1)));
  const auto one = tokens_by_shares("0:1", 7);
  ASSERT_TRUE(one) << error_of(one);
  EXPECT_THAT(*one, ElementsAre(ElementsAre(0, 4), ElementsAre(0, 3)));
}

TEST(Tokens, WrongSharesAreRefused) {
  for (const char* shares : {"3:", ":3", "1::1", "1:9999999999", "1:a", "1:-1"}) {
    EXPECT_THAT(error_of(tokens_by_shares(shares, 8)), testing::HasSubstr("is not a list of shares")) << shares;
  }
  EXPECT_THAT(error_of(tokens_by_shares("0:0", 8)), testing::HasSubstr("no receiver has a share"));
}

}  // namespace tokens_test
}  // namespace cortado
