#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/explain.hpp"

namespace cortado::pipeline {
namespace known_errors_test {

using testing::ElementsAre;
using testing::HasSubstr;

CollectiveRequest asked(const char* variant, Bytes bytes, bool prelaunch = false) {
  CollectiveRequest request;
  request.collective = "all-gather";
  request.variant = variant;
  request.bytes = bytes;
  request.prelaunch = prelaunch;
  return request;
}

std::vector<Evidence> rows() {
  return {{"speed-ups", "b2b", 64_KiB, "x", 2.0, 2.5, -0.2, true, "paper"},
          {"speed-ups", "b2b+PL", 64_KiB, "x", 3.0, 3.0, 0.0, true, "paper"},
          {"times", "library", 64_KiB, "us", 50, 40, -0.2, false, "guide"},
          {"times", "library", 128_KiB, "us", 50, 55, 0.1, false, "guide"},
          {"times", "library", 1_GiB, "us", 900, 900, 0.0, false, "guide"},
          {"by ranks", "2 ranks", 64_KiB, "us", 10, 12, 0.2, false, "tests"}};
}

TEST(KnownErrors, AreThoseOfTheSameWayNearTheSize) {
  const Machine machine = load_machine("mi300x-8").value();
  EXPECT_EQ(known_error(rows(), asked("b2b", 64_KiB), machine), -0.2);
  EXPECT_EQ(known_error(rows(), asked("b2b", 100_KiB), machine), -0.2);
  EXPECT_EQ(known_error(rows(), asked("b2b", 64_KiB, true), machine), 0.0);
  EXPECT_EQ(known_error(rows(), asked("library", 80_KiB), machine), -0.2);
  EXPECT_EQ(known_error(rows(), asked("library", 120_KiB), machine), 0.1);
  EXPECT_EQ(known_error(rows(), asked("pcpy", 64_KiB), machine), 0.0) << "speed-ups are over it";
  EXPECT_FALSE(known_error(rows(), asked("b2b", 1_MiB), machine));
  EXPECT_FALSE(known_error(rows(), asked("bcst", 64_KiB), machine));
  CollectiveRequest two = asked("library", 64_KiB);
  two.ranks = 2;
  EXPECT_EQ(known_error(rows(), two, machine), 0.2);
  two.ranks = 4;
  EXPECT_FALSE(known_error(rows(), two, machine));
}

TEST(KnownErrors, AreToldByTableAndColumn) {
  const Machine machine = load_machine("mi300x-8").value();
  const std::vector<std::string> lines = evidence_lines(rows(), asked("library", 1_GiB), machine);
  EXPECT_THAT(lines, ElementsAre(HasSubstr("times (library), 1GiB: predicted times are +0 % off")));
  EXPECT_THAT(evidence_lines(rows(), asked("library", 80_KiB), machine),
              testing::Contains(HasSubstr("times (library), 64KiB to 128KiB: predicted times are -5 % off on average, "
                                          "-20 % at most (nothing was fitted to it; guide)")));
  EXPECT_THAT(evidence_lines(rows(), asked("library", 8_MiB), machine), ElementsAre(HasSubstr("known error: none")));
}

// Its known error makes the second best look better.
TEST(KnownErrors, MayTurnAChoiceRound) {
  const Machine machine = load_machine("mi300x-8").value();
  Chooser chooser(machine, {});
  ChoiceRequest request;
  request.base = asked("auto", 64_KiB);
  request.base.in_place = true;
  request.among = {"pcpy", "b2b"};
  const auto plain = explain(request, machine, chooser, {64_KiB});
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->verdict, "");
  ASSERT_GT(plain->row.fitting.size(), 1U);
  const auto& best = plain->row.best().request;
  const auto& second = plain->row.fitting[1].request;
  ASSERT_FALSE(best.prelaunch || second.prelaunch);
  std::vector<Evidence> known{{"t", best.variant, 64_KiB, "us", 1, 1, 0.0, false, "s"},
                              {"t", second.variant, 64_KiB, "us", 1, 1, 0.0, false, "s"}};
  EXPECT_THAT(explain(request, machine, chooser, {64_KiB}, known)->verdict, HasSubstr("does not change the choice"));
  known.back().time_error = 9;  // really ten times as fast
  EXPECT_THAT(explain(request, machine, chooser, {64_KiB}, known)->verdict,
              HasSubstr(second.variant + " would be faster"));
}

}  // namespace known_errors_test
}  // namespace cortado::pipeline
