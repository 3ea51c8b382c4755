// verify.deadlock and the execution under it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "verify/execution.hpp"
#include "verify/testing/programs.hpp"

namespace cortado::verifier {
namespace deadlock_test {

using testing::commands_of;
using testing::errors_of;
using ::testing::HasSubstr;
using testing::point_to_point;
using ::testing::SizeIs;

TEST(Execution, RunsBothIterationsOfGoodPrograms) {
  for (const auto& [name, program] : testing::good_programs()) {
    const Unrolled unrolled(program);
    const Execution execution = execute(unrolled);
    EXPECT_TRUE(execution.complete()) << name;
    EXPECT_EQ(execution.order.size(), unrolled.node_count()) << name;
    for (std::size_t s = 0; s < program.signals.size(); ++s) {
      EXPECT_EQ(execution.counters[s], 2 * unrolled.advances()[s]) << name;
    }
  }
}

TEST(Execution, ALaterIterationMayRunAhead) {
  // The signaller waits for nobody, so both of its iterations come before the waiter's first.
  ProgramBuilder builder("test", "test", 1);
  const SignalId signal = builder.signal("s");
  const QueueId waiter = builder.host_queue("waiter");
  const QueueId raiser = builder.host_queue("raiser");
  builder.add(waiter, Wait{signal}).add(raiser, Signal{signal});
  const Program program = std::move(builder).finish();
  const Unrolled unrolled(program);
  const Execution execution = execute(unrolled);
  EXPECT_LT(execution.position[unrolled.node(1, 1)], execution.position[unrolled.node(0, 0)]);
}

TEST(VerifyDeadlock, SignalThatNobodyRaises) {
  Program program = point_to_point();
  commands_of(program, "dma").pop_back();
  const auto errors = errors_of(program);
  ASSERT_THAT(errors, SizeIs(1));
  EXPECT_EQ(errors[0].code, "verify.deadlock");
  EXPECT_THAT(errors[0].message, HasSubstr("waits forever for done >= 1: it stays at 0; no command raises it"));
  EXPECT_EQ(errors[0].place.queue, "host");
  EXPECT_EQ(errors[0].place.command, 1U);
}

TEST(VerifyDeadlock, WaitForMoreThanAnIterationRaises) {
  Program program = point_to_point();
  std::get<Wait>(commands_of(program, "host")[1]).value = 2;
  const auto errors = errors_of(program);
  ASSERT_THAT(errors, SizeIs(1));
  EXPECT_THAT(errors[0].message, HasSubstr("one iteration raises it by only 1: rank 0, queue dma, command 1"));
  EXPECT_EQ(errors[0].hint, "wait for at most 1");
}

TEST(VerifyDeadlock, CircleNamesEveryWaiterAndEveryCulprit) {
  // Two submitters, each waiting for what the other's queue would signal before it submits its own.
  Program program = point_to_point();
  program.signals.push_back({"other", {}});
  program.queues.push_back({"host2", QueueKind::host, {}, {}, 0, {}, {Wait{{0}}, Signal{{1}}}});
  commands_of(program, "host") = {Wait{{1}}, Submit{{1}}, Wait{{0}}};
  const auto errors = errors_of(program);
  ASSERT_THAT(errors, SizeIs(2));
  EXPECT_EQ(errors[0].place.queue, "host");
  EXPECT_EQ(errors[0].place.command, 0U);
  EXPECT_THAT(errors[0].message, HasSubstr("should have been raised by queue host2, command 1, which never ran because "
                                           "its own queue waits at command 0 (wait done >= 1)"));
  EXPECT_EQ(errors[1].place.queue, "host2");
  EXPECT_THAT(errors[1].message, HasSubstr("should have been raised by rank 0, queue dma, command 1, which never ran "
                                           "because queue host, command 1 (submit dma) was not reached"));
}

TEST(VerifyDeadlock, SecondIterationIsNamed) {
  // `done` is raised twice before the first wait needs it and never again: the wait for 2 holds once, as one iteration
  // raises it by only 1.
  ProgramBuilder builder("test", "test", 1);
  const SignalId signal = builder.signal("s");
  const QueueId waiter = builder.host_queue("waiter");
  const QueueId raiser = builder.host_queue("raiser");
  builder.add(waiter, Wait{signal, 2}).add(raiser, Signal{signal});
  const auto errors = errors_of(std::move(builder).finish());
  ASSERT_THAT(errors, SizeIs(1));
  EXPECT_THAT(errors[0].message, HasSubstr("waits forever for s >= 3 (second iteration): it stays at 2"));
}

// In the first iteration, nothing holds back the first copy.
TEST(VerifyDeadlock, WaitsForThePreviousIterationAreThoseOfTheNext) {
  Program program = testing::relay_with_credit();
  std::get<Wait>(commands_of(program, "second")[0]).value = 2;
  const auto errors = errors_of(program);
  ASSERT_THAT(errors, SizeIs(4));  // all queues
  EXPECT_EQ(errors[0].place.queue, "first");
  EXPECT_EQ(errors[0].place.command, 0U);
  EXPECT_THAT(errors[0].message, HasSubstr("waits forever for credit >= 1 (second iteration): it stays at 0"));
  EXPECT_THAT(errors[1].message, HasSubstr("waits forever for arrived >= 2: it stays at 1"));
}

TEST(VerifyDeadlock, ManyCulpritsAreCounted) {
  Program program = testing::all_gather_counter(3);
  commands_of(program, "host").insert(commands_of(program, "host").begin(), Wait{{0}, 9});
  const auto errors = errors_of(program);
  ASSERT_THAT(errors, SizeIs(1));
  EXPECT_THAT(errors[0].message, HasSubstr("and 5 more"));  // 9 queues, 4 of them named
}

}  // namespace deadlock_test
}  // namespace cortado::verifier
