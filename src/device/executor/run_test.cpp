// Runs of whole programs on the embedded node.
#include <gtest/gtest.h>

#include "device/executor/testing.hpp"
#include "ir/visit.hpp"

namespace cortado::device {
namespace run_test {

using namespace testing;  // NOLINT(google-build-using-namespace): the helpers of these tests

RunResult run(const VerifiedProgram& program, Driver& node, const RunOptions& options, PrepareOptions prepare = {}) {
  auto prepared = PreparedProgram::prepare(program, node, prepare);
  if (!prepared) {
    ADD_FAILURE() << to_string(prepared.error());
    return {};
  }
  auto result = prepared->run(options);
  if (!result) {
    ADD_FAILURE() << to_string(result.error());
    return {};
  }
  if (result->first_wrong) ADD_FAILURE() << program.program().name << ": " << to_string(*result->first_wrong);
  return *result;
}

std::uint64_t output_bytes(const Program& program) {
  std::uint64_t bytes = 0;
  for_each_output(program.contract, [&](const Region& output) { bytes += output.bytes().value; });
  return bytes;
}

TEST(Run, EveryKindOfProgramMeetsItsContractInEveryIteration) {
  const Machine machine = machine_with_ring();
  const auto node = soft_node(machine, 4);
  for (const Program& program : one_of_each()) {
    const RunResult result = run(verified(program, machine), *node, {.iterations = 20, .check = CheckOutputs::every});
    EXPECT_EQ(result.wrong_bytes, 0U) << program.name;
    EXPECT_EQ(result.checked_bytes, 20 * output_bytes(program)) << program.name;
    EXPECT_EQ(result.timeline.iteration_times.size(), 20U);
    EXPECT_FALSE(result.timeline.simulated);
  }
}

// In place, the input of the last iteration would be the output of the previous one if the caller did not write it
// again.
TEST(Run, ChecksTheLastIterationAlsoInPlace) {
  const Machine machine = machine_with_ring();
  const auto node = soft_node(machine, 4);
  for (const Program& program : one_of_each()) {
    const RunResult result = run(verified(program, machine), *node, {.iterations = 3, .check = CheckOutputs::last});
    EXPECT_EQ(result.wrong_bytes, 0U) << program.name;
    EXPECT_EQ(result.checked_bytes, output_bytes(program)) << program.name;
  }
}

// The host does not wait, but the ring holds only two iterations: when the host reads its outputs after iteration 49,
// the engines have finished iterations before it and not yet that one.
TEST(Run, OutputsOfAnEarlierIterationDoNotPassForTheLastOnes) {
  Program program = copy_chain();
  std::erase_if(program.queues[0].commands, [](const Command& c) { return std::holds_alternative<Wait>(c); });
  const Machine machine = machine_with_ring(256_B);
  const auto node = adversarial_node(machine, 3, 5);
  auto prepared = PreparedProgram::prepare(verified(program, machine, {"verify.race", "verify.contract"}), *node);
  ASSERT_TRUE(prepared);
  const auto result = prepared->run({.iterations = 50, .check = CheckOutputs::last});
  ASSERT_TRUE(result) << to_string(result.error());
  EXPECT_EQ(result->wrong_bytes, 1000U);
}

/// The first error that a run of an unverified program finds in its data.
std::string wrong_data(Program program) {
  const Machine machine = machine_with_ring();
  const auto node = soft_node(machine, 2);
  auto prepared = PreparedProgram::prepare(verified(std::move(program), machine, {"verify.contract"}), *node);
  EXPECT_TRUE(prepared);
  const auto result = prepared->run({.iterations = 2, .check = CheckOutputs::every});
  EXPECT_TRUE(result) << to_string(result.error());
  EXPECT_EQ(result->wrong_bytes > 0, result->first_wrong.has_value());
  return result->first_wrong ? to_string(*result->first_wrong) : "";
}

TEST(Run, ProductsThatAreWrongAreFound) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f8}) {
    Program program = product_in_panels(dtype);
    EXPECT_EQ(wrong_data(program), "");
    std::vector<Command>& commands = program.queues[3].commands;  // a Wait and four Gemms
    ASSERT_TRUE(std::holds_alternative<Gemm>(commands[4]));
    Program missing = program;
    missing.queues[3].commands.erase(missing.queues[3].commands.begin() + 2);
    EXPECT_NE(wrong_data(missing).find("of a product, iteration 0: expected"), std::string::npos)
        << wrong_data(missing);
    Program twice = program;
    twice.queues[3].commands.insert(twice.queues[3].commands.begin() + 2, commands[2]);
    EXPECT_NE(wrong_data(twice), "");
    Program other_rows = program;
    std::get<Gemm>(other_rows.queues[3].commands[3]).b.offset = {0};
    EXPECT_NE(wrong_data(other_rows), "");
  }
}

TEST(Run, ProductsThatNobodyMakesAreFound) {
  Program program = gemm_that_releases_a_copy();
  program.queues[1].commands.erase(program.queues[1].commands.begin());
  program.queues[2].commands.erase(program.queues[2].commands.begin());  // the wait for its signal
  EXPECT_NE(wrong_data(program).find("buffer c, row 0, column 0 of a product, iteration 0: expected"),
            std::string::npos)
      << wrong_data(program);
  EXPECT_NE(wrong_data(program).find("found -nan (never written)"), std::string::npos) << wrong_data(program);
}

TEST(Run, WithoutACheckNothingIsChecked) {
  const Machine machine = machine_with_ring();
  const auto node = soft_node(machine, 3);
  const RunResult result = run(verified(copy_chain(), machine), *node, {.check = CheckOutputs::none});
  EXPECT_EQ(result.checked_bytes, 0U);
}

// 1000 bytes over two hops per iteration.
TEST(Run, CountsMovedBytes) {
  const Machine machine = machine_with_ring();
  const auto node = soft_node(machine, 3);
  EXPECT_EQ(run(verified(copy_chain(), machine), *node, {.iterations = 5}).timeline.bytes_moved, 10'000_B);
  EXPECT_EQ(run(verified(broadcast_to_two(), machine), *node, {}).timeline.bytes_moved, Bytes{2 * 777});
}

// The frames of these queues have 60 to 96 bytes: a ring of 256 wraps every few iterations.
TEST(Run, ReplaysAThousandTimesThroughASmallRing) {
  const Machine machine = machine_with_ring(256_B);
  const auto node = soft_node(machine, 4);
  for (const Program& program : {copy_chain(64_B), ring_of_hosts(4)}) {
    const RunResult result = run(verified(program, machine), *node, {.iterations = 1000, .check = CheckOutputs::every});
    EXPECT_EQ(result.wrong_bytes, 0U) << program.name;
    EXPECT_EQ(result.timeline.iteration_times.size(), 1000U);
  }
}

TEST(Run, APreparationRunsAgainAndAgain) {
  const Machine machine = machine_with_ring(1_KiB);
  const auto node = soft_node(machine, 3);
  auto prepared = PreparedProgram::prepare(verified(copy_chain(), machine), *node);
  ASSERT_TRUE(prepared);
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    const auto result = prepared->run({.iterations = 3, .seed = seed, .check = CheckOutputs::every});
    ASSERT_TRUE(result) << to_string(result.error());
    EXPECT_EQ(result->wrong_bytes, 0U);
  }
}

// The signal gets 2^30 per iteration, so that every iteration is a separate batch: without the reset the third poll
// would have to compare with 3 * 2^30.
TEST(Run, CountersAreSetBackBeforePollsCouldMisreadThem) {
  constexpr std::uint64_t kStep = 1ULL << 30;
  ProgramBuilder p("large steps", "mi300x-8", 2);
  const Region in = all_of(p.buffer("in", RankId{0}, 64_B, BufferRole::input), 64_B);
  const Region out = all_of(p.buffer("out", RankId{1}, 64_B, BufferRole::output), 64_B);
  const SignalId go = p.signal("go");
  const SignalId done = p.signal("done");
  const QueueId host = p.host_queue("host");
  const QueueId dma = p.dma_queue("dma", RankId{0}, EngineId{14});
  p.add(dma, Wait{go, kStep}).add(dma, Copy{in, out}).add(dma, Signal{done, kStep});
  p.add(host, Submit{dma}).add(host, Trigger{go, kStep}).add(host, Wait{done, kStep});
  p.contract(point_to_point_contract(in, out));
  const Machine machine = machine_with_ring();
  const auto node = soft_node(machine, 2);
  const RunResult result =
      run(verified(std::move(p).finish(), machine), *node, {.iterations = 9, .check = CheckOutputs::every});
  EXPECT_EQ(result.wrong_bytes, 0U);
  EXPECT_EQ(result.checked_bytes, 9U * 64);
}

TEST(Run, OneThreadIsEnough) {
  const Machine machine = machine_with_ring();
  SoftOptions options;
  options.workers = 0;
  const auto node = soft_node(machine, 4, options);
  for (const Program& program : one_of_each()) {
    EXPECT_EQ(run(verified(program, machine), *node, {.iterations = 5, .check = CheckOutputs::every}).wrong_bytes, 0U)
        << program.name;
  }
}

TEST(Run, AddingCopiesNeedAndUseMemoryThatReduces) {
  const Machine machine = machine_with_ring(64_KiB, "virtual-64-nmc");
  TestProgram p("add", 2);
  const Region in = all_of(p.input("in", 0, 256_B), 256_B);
  const Region sum = all_of(p.buffer("sum", RankId{1}, 256_B, BufferRole::inout), 256_B);
  const QueueId dma = p.dma("dma", 0, machine.engine_towards(RankId{0}, RankId{1}).value);
  p.add(dma, Copy{in, sum, CopyOp::add, DType::f16});
  p.contract({"add", {{sum, {in, sum}, DType::f16}}});
  const Program program = std::move(p).close();
  const auto node = soft_node(machine, 2);
  EXPECT_EQ(run(verified(program, machine), *node, {.iterations = 4, .check = CheckOutputs::every}).wrong_bytes, 0U);
  EXPECT_EQ(run(verified(program, machine), *node, {.iterations = 4, .check = CheckOutputs::last}).wrong_bytes, 0U);
}

TEST(Adversarial, RightProgramsStayRight) {
  const Machine machine = machine_with_ring(512_B);
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const auto node = adversarial_node(machine, 4, seed);
    for (const Program& program : one_of_each()) {
      const RunResult result =
          run(verified(program, machine), *node,
              {.iterations = 6, .seed = seed, .check = CheckOutputs::every, .adversarial_seed = seed});
      EXPECT_EQ(result.wrong_bytes, 0U) << program.name << ", seed " << seed;
    }
  }
}

/// Seeds out of `seeds` for which the program's outputs are wrong.
std::uint64_t seeds_that_catch(Program program, std::uint64_t seeds) {
  const Machine machine = machine_with_ring(4_KiB);
  const VerifiedProgram unproved = verified(std::move(program), machine, {"verify.race", "verify.contract"});
  std::uint64_t caught = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const auto node = adversarial_node(machine, 4, seed);
    auto prepared = PreparedProgram::prepare(unproved, *node);
    EXPECT_TRUE(prepared);
    const auto result =
        prepared->run({.iterations = 4, .seed = seed, .check = CheckOutputs::every, .adversarial_seed = seed});
    EXPECT_TRUE(result) << to_string(result.error());
    if (result->wrong_bytes > 0) ++caught;
  }
  return caught;
}

TEST(Adversarial, CatchesAQueueThatDoesNotWait) {
  Program program = copy_chain();
  std::vector<Command>& second = program.queues[2].commands;
  ASSERT_TRUE(std::holds_alternative<Wait>(second.front()));
  second.erase(second.begin());
  EXPECT_GT(seeds_that_catch(program, 10), 0U);
}

TEST(Adversarial, CatchesAnIterationThatOvertakesTheOneBefore) {
  Program program = relay_with_credit();
  std::vector<Command>& first = program.queues[0].commands;
  ASSERT_EQ(first.front(), Command(Wait{{1}, 0}));
  first.erase(first.begin());
  EXPECT_GT(seeds_that_catch(program, 10), 0U);
}

TEST(Adversarial, CatchesAHostThatReadsTooEarly) {
  Program program = copy_chain();
  std::vector<Command>& host = program.queues[0].commands;
  for (Command& command : host) {
    if (auto* wait = std::get_if<Wait>(&command)) wait->value = 1;  // of two
  }
  EXPECT_GT(seeds_that_catch(program, 10), 0U);
}

TEST(Packets, OfAPreparationAreThoseOfTheProgramAtOtherAddresses) {
  const Machine machine = machine_with_ring();
  const auto node = soft_node(machine, 3);
  const VerifiedProgram program = verified(copy_chain(), machine);
  auto prepared = PreparedProgram::prepare(program, *node);
  ASSERT_TRUE(prepared);
  const auto encoded = encode_program(program);
  ASSERT_TRUE(encoded);
  const std::vector<QueuePackets> packets = prepared->packets();
  ASSERT_EQ(packets.size(), 2U);
  ASSERT_EQ(encoded->size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(packets[i].queue, (*encoded)[i].queue);
    EXPECT_EQ(packets[i].start, (*encoded)[i].start);
    EXPECT_EQ(packets[i].dwords[0], (*encoded)[i].dwords[0]);
  }
  // in of rank 0 goes to mid of rank 1: the first buffers of their ranks.
  EXPECT_EQ((*encoded)[0].dwords, (std::vector<std::uint32_t>{1,          999,  0,      0, 0x1000, 0, 0x2000,  //
                                                              0x5e00000a, 0x40, 0x0f00, 1, 0,      0, 0,      0,
                                                              0x5e00000a, 0x00, 0x0f00, 1, 0,      0, 0,      0}));
}

}  // namespace run_test
}  // namespace cortado::device
