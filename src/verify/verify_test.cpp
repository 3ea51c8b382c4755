#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cortado/target.hpp"

#include "verify/testing/programs.hpp"

namespace cortado::verifier {
namespace verify_test {

using testing::codes_of;
using testing::commands_of;
using ::testing::ElementsAre;
using testing::errors_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::point_to_point;
using testing::test_machine;

TEST(Verify, KeepsProgramAndMachine) {
  const Program program = point_to_point();
  const auto verified = verify(program, test_machine(2));
  ASSERT_TRUE(verified.has_value());
  EXPECT_EQ(verified->program(), program);
  EXPECT_EQ(verified->machine().name, "test");
  EXPECT_THAT(verified->skipped_rules(), IsEmpty());
}

TEST(Verify, RulesStandInTheOrderTheyRun) {
  std::vector<std::string_view> codes;
  for (const RuleInfo& rule : verify_rules()) {
    codes.push_back(rule.code);
    EXPECT_FALSE(rule.summary.empty());
  }
  EXPECT_THAT(codes,
              ElementsAre("verify.ids", "verify.structure", "verify.bounds", "verify.tracker", "verify.machine",
                          "verify.deadlock", "verify.units", "verify.equal_wait", "verify.race", "verify.contract"));
}

TEST(Verify, SkippedRulesStayWrittenOnTheProgram) {
  Program program = point_to_point();
  commands_of(program, "host").pop_back();  // a race
  EXPECT_THAT(codes_of(program), ElementsAre("verify.race"));
  // The contract rule needs a program without races: it cannot run, and that is said, too.
  const auto verified = check_program(program, test_machine(2), {{"verify.race"}, 8});
  ASSERT_TRUE(verified.has_value());
  EXPECT_THAT(verified->skipped_rules(), ElementsAre("verify.race", "verify.contract"));
}

TEST(Verify, SkippingARuleThatHoldsKeepsTheOthersRunning) {
  Program program = point_to_point();
  std::get<Copy>(commands_of(program, "dma")[0]).src.width = {32};
  std::get<Copy>(commands_of(program, "dma")[0]).dst.width = {32};
  EXPECT_THAT(codes_of(program, {{"verify.race", "verify.machine"}, 8}), ElementsAre("verify.contract"));
}

TEST(Verify, NothingCrashesWhenTheRulesThatGuardAreSkipped) {
  Program program = point_to_point();
  std::get<Copy>(commands_of(program, "dma")[0]).src.buffer = {99};
  const auto verified = check_program(program, test_machine(2), {{"verify.ids"}, 8});
  ASSERT_TRUE(verified.has_value());
  EXPECT_EQ(verified->skipped_rules().size(), verify_rules().size());
}

TEST(Verify, UnknownRulesToSkipAreRefused) {
  const auto errors = errors_of(point_to_point(), {{"verify.rase"}, 8});
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].code, "verify.skip");
  EXPECT_THAT(errors[0].message, HasSubstr("verify.rase"));
  EXPECT_THAT(errors[0].hint, HasSubstr("verify.race"));
}

TEST(Verify, ErrorsOfARuleAreLimitedAndAtLeastOne) {
  Program program = testing::all_gather(3);
  for (Queue& queue : program.queues) {
    if (queue.kind == QueueKind::dma) std::get<Copy>(queue.commands[0]).src.offset = {1};
  }
  EXPECT_EQ(errors_of(program).size(), 8U);
  EXPECT_EQ(errors_of(program, {{}, 3}).size(), 3U);
  EXPECT_EQ(errors_of(program, {{}, 0}).size(), 1U);
}

TEST(Verify, RulesThatDoNotNeedEachOtherAllReport) {
  Program program = point_to_point();
  program.queues[1].engine = EngineId{77};
  commands_of(program, "dma").pop_back();
  EXPECT_THAT(codes_of(program), ElementsAre("verify.machine", "verify.deadlock"));
}

TEST(Verify, ErrorsAreOneLine) {
  Program program = point_to_point();
  commands_of(program, "dma").pop_back();
  for (const Diagnostic& error : errors_of(program)) {
    EXPECT_EQ(error.message.find('\n'), std::string::npos);
    EXPECT_FALSE(error.hint.empty());
  }
}

}  // namespace verify_test
}  // namespace cortado::verifier
