#include "sweep/kept.hpp"

#include <string>

#include <gmock/gmock.h>

#include "sweep/check.hpp"
#include "sweep/testing.hpp"

namespace cortado::sweep::kept_test {
namespace {

using testing::FakeQuestion;
using ::testing::HasSubstr;
using testing::spec_of;

constexpr const char* kRank = "[rank]\nlabel = \"way\"\ncolumn = \"time_us\"\n";

Result<std::uint64_t> checked(const std::string& top, const std::string& rest) {
  return check_spec(spec_of("question = \"fake\"\n" + top + "[axes]\na = [1]\nb = [1]\n" + rest), FakeQuestion());
}

TEST(Kept, WhatAnswersHaveIsAccepted) {
  for (const std::string& rest : {std::string(), std::string(kRank), kRank + std::string("within = \"speedup\"\n"),
                                  kRank + std::string("condition = \"speedup > a AND rate <> ''\"\n"),
                                  std::string("[keep]\ntables = [\"rows\"]\ncolumns = [\"way\", \"time_us\"]\n")}) {
    const auto points = checked("", rest);
    EXPECT_TRUE(points) << rest << to_string(points.error());
  }
}

struct Refused {
  const char* top;
  std::string rest;
  const char* code;
  const char* message;
};

TEST(Kept, WhatAnswersLackIsRefusedBeforeAnythingRuns) {
  const std::string rank = kRank;
  for (const Refused& one : {
           Refused{"", "[keep]\ntables = [\"rowz\"]\n", "sweep.column", "did you mean rows?"},
           Refused{"", "[keep]\ncolumns = [\"way\", \"tim_us\"]\n", "sweep.column", "did you mean time_us?"},
           Refused{"", "[keep]\ncolumns = [\"way\", \"speedup\"]\n", "sweep.column", "add \"time_us\""},
           Refused{"", "[rank]\nlabel = \"wax\"\ncolumn = \"time_us\"\n", "sweep.column", "did you mean way?"},
           Refused{"", rank + "table = \"row\"\n", "sweep.column", "key rank.table"},
           Refused{"", rank + "score = \"sped\"\n", "sweep.column", "key rank.score"},
           Refused{"", rank + "within = \"x\"\n", "sweep.column", "key rank.within"},
           Refused{"", rank + "condition = \"a) OR (b\"\n", "sweep.sql", "not a condition"},
           Refused{"", rank + "condition = \"c > 1\"\n", "sweep.sql", "no such column: c"},
           Refused{"labels = [\"x\"]\n", "", "sweep.name", "the label \"x\" is not an axis"},
       }) {
    const auto points = checked(one.top, one.rest);
    ASSERT_FALSE(points) << one.rest;
    EXPECT_EQ(points.error().code, one.code);
    EXPECT_THAT(to_string(points.error()), HasSubstr(one.message));
  }
}

}  // namespace
}  // namespace cortado::sweep::kept_test
