// verify.structure
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "verify/testing/programs.hpp"

namespace cortado::verifier {
namespace structure_test {

using testing::commands_of;
using ::testing::Contains;
using testing::errors_of;
using ::testing::Field;
using ::testing::HasSubstr;
using testing::point_to_point;

void expect_error(const Program& program, const std::string& fragment) {
  const auto errors = errors_of(program);
  ASSERT_FALSE(errors.empty()) << fragment;
  bool found = false;
  for (const Diagnostic& error : errors) {
    EXPECT_EQ(error.code, "verify.structure");
    EXPECT_FALSE(error.hint.empty()) << error.message;
    found = found || error.message.find(fragment) != std::string::npos;
  }
  EXPECT_TRUE(found) << fragment << " is not in: " << to_string(errors[0]);
}

TEST(VerifyStructure, QueueThatNobodySubmits) {
  Program program = point_to_point();
  commands_of(program, "host").erase(commands_of(program, "host").begin());
  expect_error(program, "no host queue submits this queue");
}

TEST(VerifyStructure, QueueSubmittedTwiceNamesBoth) {
  Program program = point_to_point();
  program.queues.push_back({"second", QueueKind::host, {}, {}, 0, {}, {Submit{{1}}}});
  expect_error(program, "submits queue dma a second time; the first is queue host, command 0");
}

TEST(VerifyStructure, SubmitOfAHostQueue) {
  Program program = point_to_point();
  commands_of(program, "host").push_back(Submit{{0}});
  expect_error(program, "submits the host queue host");
}

TEST(VerifyStructure, IncompleteQueues) {
  Program program = point_to_point();
  program.queues[1].engine.reset();
  expect_error(program, "a dma queue without an engine");
  program = point_to_point();
  program.queues[0].engine = EngineId{2};
  expect_error(program, "a host queue with an engine");
  program = point_to_point();
  program.queues[1].rank.reset();
  expect_error(program, "a dma queue without a rank");
}

TEST(VerifyStructure, OnlyComputeQueuesHaveUnitsAndPriorities) {
  Program program = point_to_point();
  program.queues[1].compute_units = 4;
  expect_error(program, "a dma queue with 4 compute units");
  program = point_to_point();
  program.queues[0].priority = -1;
  expect_error(program, "a host queue with priority -1");
}

TEST(VerifyStructure, GemmsAreKernelsOfTheirOwn) {
  Program program = point_to_point();
  program.queues.push_back({"cores", QueueKind::compute, RankId{0}, {}, 0, {}, {Gemm{}}, "cores"});
  EXPECT_THAT(errors_of(program), Contains(Field(&Diagnostic::message, HasSubstr("a GEMM as a part of kernel cores"))));
}

TEST(VerifyStructure, TheEndIsStampedAfterTheBegin) {
  Program program = point_to_point();
  auto& commands = commands_of(program, "host");
  commands.insert(commands.begin(), Timestamp{"end"});
  EXPECT_TRUE(errors_of(program).empty()) << "without a begin it brackets nothing";
  commands.push_back(Timestamp{"begin"});
  expect_error(program, "\"end\" comes before \"begin\"");
  commands.front() = Timestamp{"begin"};
  commands.back() = Timestamp{"end"};
  EXPECT_TRUE(errors_of(program).empty());
}

TEST(VerifyStructure, OnlyComputeQueuesArePartsOfAKernel) {
  Program program = point_to_point();
  program.queues[1].kernel = "cores";
  expect_error(program, "a dma queue as a part of kernel cores");
}

TEST(VerifyStructure, PartsOfAKernelAreSubmittedTogether) {
  Program program = point_to_point();
  for (const char* name : {"part0", "part1"}) {
    program.queues.push_back({name, QueueKind::compute, RankId{0}, {}, 0, {}, {}, "cores"});
  }
  auto& host = commands_of(program, "host");
  host.push_back(Submit{{2}});
  host.push_back(Submit{{3}});
  EXPECT_TRUE(errors_of(program).empty());
  std::swap(host[1], host[2]);  // the wait for the dma queue comes between them
  expect_error(program, "submits queue part1, a part of kernel cores, apart from queue host, command 1");
  program.queues[2].rank = RankId{1};  // kernels of two ranks
  EXPECT_TRUE(errors_of(program).empty());
}

TEST(VerifyStructure, TwoQueuesOfOneName) {
  Program program = point_to_point();
  program.queues[0].name = "dma";
  expect_error(program, "queues 0 and 1 have the same name");
}

TEST(VerifyStructure, SignalThatIsSetAndAddedTo) {
  Program program = point_to_point();
  commands_of(program, "host").push_back(Signal{{0}, 2, SignalOp::set});
  expect_error(program, "done is both set and added to");
}

TEST(VerifyStructure, TrackersAddToTheirSignalAndCountFromOne) {
  Program program = point_to_point();
  program.trackers.push_back({"t", make_region({1}, {0}, {64}), 1, {0}, 1});
  std::get<Signal>(commands_of(program, "dma")[1]).op = SignalOp::set;
  expect_error(program, "done is both set and added to; the other way is used by rank 0, queue dma, command 1");
  program = point_to_point();
  program.trackers.push_back({"t", make_region({1}, {0}, {64}), 0, {0}, 1});
  expect_error(program, "tracker t counts to 0");
  program.trackers[0] = {"t", make_region({1}, {0}, {64}), 1, {0}, 0};
  expect_error(program, "raises done by 0");
}

TEST(VerifyStructure, SignalSetByTwoQueues) {
  Program program = point_to_point();
  commands_of(program, "dma")[1] = Signal{{0}, 1, SignalOp::set};
  commands_of(program, "host").push_back(Signal{{0}, 2, SignalOp::set});
  expect_error(program, "done is set by two queues");
}

TEST(VerifyStructure, SetValuesMustGrow) {
  Program program = point_to_point();
  commands_of(program, "dma")[1] = Signal{{0}, 3, SignalOp::set};
  commands_of(program, "dma").push_back(Signal{{0}, 3, SignalOp::set});
  expect_error(program, "sets done to 3 after it was set to 3");
}

TEST(VerifyStructure, ValuesOfZero) {
  Program program = point_to_point();
  std::get<Wait>(commands_of(program, "host")[1]).value = 0;
  expect_error(program, "waits for done to reach 0, where the previous iteration leaves it");
  commands_of(program, "dma").pop_back();
  expect_error(program, "waits for done to reach 0, which is always true: nothing raises it");
  program = point_to_point();
  std::get<Signal>(commands_of(program, "dma")[1]).value = 0;
  expect_error(program, "raises done by 0");
}

TEST(VerifyStructure, WaitsForThePreviousIterationStartADmaQueue) {
  const Program relay = testing::relay_with_credit();
  EXPECT_TRUE(errors_of(relay).empty());
  Program program = relay;
  std::vector<Command>& commands = commands_of(program, "first");
  const Command credit = commands[0];
  commands.insert(commands.begin(), Wait{{0}, 1});  // any number of waits may come before it
  std::swap(commands[0], commands[1]);
  EXPECT_THAT(testing::codes_of(program), ::testing::ElementsAre("verify.deadlock"));
  std::swap(commands[0], commands[1]);
  EXPECT_THAT(testing::codes_of(program), ::testing::ElementsAre("verify.deadlock"));
  program = relay;
  std::get<Wait>(commands_of(program, "first")[0]).compare = Compare::eq;
  expect_error(program, "such a wait can only be proved at the start of a dma queue, with ge");
  program = relay;
  std::swap(commands_of(program, "first")[0], commands_of(program, "first")[1]);  // behind a copy
  expect_error(program, "waits for credit to reach 0, where the previous iteration leaves it");
  program = relay;
  commands_of(program, "first").erase(commands_of(program, "first").begin());
  EXPECT_THAT(testing::codes_of(program), ::testing::ElementsAre("verify.race"));
}

TEST(VerifyStructure, CallsBelongToComputeQueuesAndAreFew) {
  Program program = point_to_point();
  program.queues[0].calls = 1;
  expect_error(program, "a host queue with library calls");
  program.queues[0].calls = 1'000'001;
  EXPECT_THAT(errors_of(program).front().message, HasSubstr("1000001 library calls behind one queue"));
}

TEST(VerifyStructure, CountersThatWouldOverflow) {
  Program program = point_to_point();
  std::get<Signal>(commands_of(program, "dma")[1]).value = ~0ULL;
  expect_error(program, "grows by more than 2^40");
  program = point_to_point();
  // Each fits, the sum does not.
  std::get<Signal>(commands_of(program, "dma")[1]).value = 1ULL << 40U;
  commands_of(program, "dma").push_back(Signal{{0}, 1});
  expect_error(program, "grows by more than 2^40");
}

TEST(VerifyStructure, RankWithoutACaller) {
  Program program = point_to_point();
  program.queues[0].rank = RankId{0};  // the only host queue now speaks for rank 0
  const auto errors = errors_of(program);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_THAT(errors[0].message, HasSubstr("rank 1 has inputs or outputs but no host queue"));
  EXPECT_EQ(errors[0].place.rank, RankId{1});
}

}  // namespace structure_test
}  // namespace cortado::verifier
