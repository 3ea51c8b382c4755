// Runs that cannot finish, and how they are reported.
#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/executor/testing.hpp"

namespace cortado::device {
namespace stall_test {

using namespace testing;  // NOLINT(google-build-using-namespace): the helpers of these tests
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::chrono::milliseconds kSoon{30};

Diagnostic failure_of(const VerifiedProgram& program, Driver& node, const RunOptions& options = {.timeout = kSoon}) {
  auto prepared = PreparedProgram::prepare(program, node);
  if (!prepared) {
    ADD_FAILURE() << to_string(prepared.error());
    return {};
  }
  const auto result = prepared->run(options);
  if (result) {
    ADD_FAILURE() << "the run was expected to fail";
    return {};
  }
  return result.error();
}

void expect_runs(const VerifiedProgram& program, Driver& node) {
  auto prepared = PreparedProgram::prepare(program, node);
  ASSERT_TRUE(prepared) << to_string(prepared.error());
  const auto result = prepared->run({.iterations = 5, .check = CheckOutputs::every});
  ASSERT_TRUE(result) << to_string(result.error());
  EXPECT_EQ(result->wrong_bytes, 0U);
}

TEST(Stall, ACallerMayStopARun) {
  const Machine machine = machine_with_ring();
  SoftOptions options;
  options.faults.stalled_engines.push_back({RankId{0}, EngineId{14}, 1});
  const auto node = soft_node(machine, 3, options);
  int asked = 0;
  RunOptions run;
  run.timeout = std::chrono::hours(1);
  run.stop = [&] { return ++asked == 3; };
  EXPECT_EQ(failure_of(verified(copy_chain(), machine), *node, run).code, "device.interrupted");
  EXPECT_EQ(asked, 3);
}

TEST(Stall, AStalledEngineIsNamedFirstThenWhoWaits) {
  const Machine machine = machine_with_ring();
  SoftOptions options;
  options.faults.stalled_engines.push_back({RankId{0}, EngineId{14}, 1});
  const auto node = soft_node(machine, 3, options);
  const Diagnostic error = failure_of(verified(copy_chain(), machine), *node);
  EXPECT_EQ(error.code, "device.timeout");
  EXPECT_EQ(error.place.rank, RankId{0});
  EXPECT_EQ(error.place.queue, "first");
  EXPECT_EQ(error.place.command, 1U) << "one packet was executed: " << error.message;
  EXPECT_THAT(error.message, HasSubstr("no progress for 30 ms; stuck: rank 0, queue first, command 1"));
  EXPECT_THAT(error.message, HasSubstr("rank 1, queue second, command 0 (wait arrived >= 1) needs arrived >= 1, is 0, "
                                       "raised by first"));
  EXPECT_THAT(error.message, HasSubstr("queue host, command 3 (wait done >= 2) needs done >= 2, is 0"));
  EXPECT_THAT(error.message, Not(HasSubstr("\n")));
}

// The first signal of the engine is lost, later ones are not: the node works again for the next preparation.
TEST(Stall, ALostSignalIsReportedAndTheNodeIsUsableAgain) {
  const Machine machine = machine_with_ring();
  SoftOptions options;
  options.faults.lost_signals.push_back({RankId{0}, EngineId{14}, 0});
  const auto node = soft_node(machine, 3, options);
  const VerifiedProgram program = verified(copy_chain(), machine);
  const Diagnostic error = failure_of(program, *node);
  EXPECT_EQ(error.code, "device.timeout");
  EXPECT_EQ(error.place.queue, "second");
  EXPECT_THAT(error.message, HasSubstr("needs arrived >= 1, is 0"));
  expect_runs(program, *node);
}

TEST(Stall, ADroppedDoorbellIsReported) {
  const Machine machine = machine_with_ring();
  SoftOptions options;
  options.faults.dropped_doorbells.push_back({RankId{0}, EngineId{14}, 0});
  const auto node = soft_node(machine, 3, options);
  const Diagnostic error = failure_of(verified(copy_chain(), machine), *node);
  EXPECT_EQ(error.code, "device.timeout");
  EXPECT_EQ(error.place.queue, "first");
  EXPECT_THAT(error.message, HasSubstr("missed a doorbell"));
}

TEST(Stall, ManyStuckQueuesAreCounted) {
  ProgramBuilder p("many", "mi300x-8", 2);
  const SignalId never = p.signal("never");
  const SignalId done = p.signal("done");
  const QueueId host = p.host_queue("host");
  for (std::uint32_t i = 0; i < 12; ++i) {
    const QueueId dma = p.dma_queue("dma" + std::to_string(i), RankId{0}, EngineId{2 + i});
    p.add(dma, Wait{never}).add(dma, Signal{done});
    p.add(host, Submit{dma});
  }
  p.add(host, Wait{done, 12}).add(host, Trigger{never});
  const Machine machine = machine_with_ring();
  const auto node = soft_node(machine, 2);
  const VerifiedProgram program = verified(std::move(p).finish(), machine,
                                           {"verify.deadlock", "verify.equal_wait", "verify.race", "verify.contract"});
  // 12 dma queues and the host: 8 are named.
  EXPECT_THAT(failure_of(program, *node).message, HasSubstr("; and 5 more queues"));
  EXPECT_EQ(failure_of(program, *node, {.timeout = kSoon, .adversarial_seed = 3}).code, "device.timeout");
}

TEST(Stall, AComputeQueueThatWaitsIsNamed) {
  Program program = summed_inputs(DType::f32);
  const Machine machine = machine_with_ring();
  SoftOptions options;
  options.faults.stalled_engines.push_back({RankId{1}, EngineId{14}, 0});
  const auto node = soft_node(machine, 2, options);
  const Diagnostic error = failure_of(verified(program, machine), *node);
  EXPECT_EQ(error.place.queue, "dma");
  EXPECT_THAT(error.message, HasSubstr("rank 0, queue compute"));
}

TEST(Fault, IsMappedBackToTheCommand) {
  Program program = copy_chain();
  const Machine machine = machine_with_ring();
  const auto node = soft_node(machine, 3);
  // 2 MiB past the end of its 1000 bytes: unmapped memory.
  auto& copy = std::get<Copy>(program.queues[2].commands[1]);
  copy.dst.offset = 2_MiB;
  const VerifiedProgram unproved = verified(program, machine, {"verify.bounds", "verify.race", "verify.contract"});
  const Diagnostic error = failure_of(unproved, *node, {.iterations = 3});
  EXPECT_EQ(error.code, "device.fault");
  EXPECT_EQ(error.place.rank, RankId{1});
  EXPECT_EQ(error.place.queue, "second");
  EXPECT_EQ(error.place.command, 1U);
  EXPECT_THAT(error.message, HasSubstr("copy mid[0+1000] -> out[2097152+1000]"));
  expect_runs(verified(copy_chain(), machine), *node);
}

TEST(Fault, ABrokenPreparationSaysSo) {
  const Machine machine = machine_with_ring();
  SoftOptions options;
  options.faults.stalled_engines.push_back({RankId{0}, EngineId{14}, 0});
  const auto node = soft_node(machine, 3, options);
  auto prepared = PreparedProgram::prepare(verified(copy_chain(), machine), *node);
  ASSERT_TRUE(prepared);
  EXPECT_FALSE(prepared->run({.timeout = kSoon}));
  const auto again = prepared->run({.timeout = kSoon});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, "device.broken");
}

}  // namespace stall_test
}  // namespace cortado::device
