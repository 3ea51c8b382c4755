// verify.equal_wait
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "verify/testing/programs.hpp"

namespace cortado::verifier {
namespace equal_wait_test {

using testing::commands_of;
using testing::errors_of;
using ::testing::HasSubstr;

Program hosts(const std::vector<std::vector<Command>>& queues) {
  ProgramBuilder builder("test", "test", 1);
  builder.signal("s");
  builder.signal("t");
  testing::promise_nothing(builder);
  for (const auto& commands : queues) {
    const QueueId id = builder.host_queue("host" + std::to_string(builder.peek().queues.size()));
    for (const Command& command : commands) builder.add(id, command);
  }
  return std::move(builder).finish();
}

TEST(VerifyEqualWait, NextIterationMayPassTheValue) {
  const auto errors = errors_of(hosts({{Signal{{0}}}, {Wait{{0}, 1, Compare::eq}}}));
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].code, "verify.equal_wait");
  EXPECT_EQ(errors[0].place.queue, "host1");
  EXPECT_EQ(errors[0].place.command, 0U);
  EXPECT_THAT(errors[0].message, HasSubstr("waits for s == 1, but queue host0, command 0 of the next iteration may "
                                           "raise it to 2 before the wait sees it"));
}

TEST(VerifyEqualWait, SafeIfTheSignallerWaitsForTheWaiter) {
  // host0 raises again only after host1 has answered.
  EXPECT_TRUE(errors_of(hosts({{Signal{{0}}, Wait{{1}}}, {Wait{{0}, 1, Compare::eq}, Signal{{1}}}})).empty());
}

TEST(VerifyEqualWait, SameIterationMayPassTheValue) {
  // The second raise comes before the answer.
  const auto errors =
      errors_of(hosts({{Signal{{0}}, Signal{{0}}, Wait{{1}}}, {Wait{{0}, 1, Compare::eq}, Signal{{1}}}}));
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_THAT(errors[0].message, HasSubstr("queue host0, command 1 may raise it to 2"));
}

TEST(VerifyEqualWait, AStepOfTwoJumpsOverTheValue) {
  const auto errors = errors_of(hosts({{Signal{{0}, 2}, Wait{{1}}}, {Wait{{0}, 1, Compare::eq}, Signal{{1}}}}));
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_THAT(errors[0].message, HasSubstr("may raise it to 2"));
}

TEST(VerifyEqualWait, SetSignals) {
  const auto set = [](std::uint64_t value) { return Signal{{0}, value, SignalOp::set}; };
  EXPECT_TRUE(errors_of(hosts({{set(4), Wait{{1}}}, {Wait{{0}, 4, Compare::eq}, Signal{{1}}}})).empty());
  const auto errors = errors_of(hosts({{set(4), set(5), Wait{{1}}}, {Wait{{0}, 4, Compare::eq}, Signal{{1}}}}));
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_THAT(errors[0].message, HasSubstr("may raise it to 5"));
}

TEST(VerifyEqualWait, AtLeastIsAlwaysFine) {
  EXPECT_TRUE(errors_of(hosts({{Signal{{0}}}, {Wait{{0}, 1}}})).empty());
}

}  // namespace equal_wait_test
}  // namespace cortado::verifier
