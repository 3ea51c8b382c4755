#include "ir/visit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cortado/program.hpp"

namespace cortado {
namespace visit_test {

using testing::ElementsAre;

/// Rank 0 sends its block to rank 1 and keeps a local copy; one dma queue, one host thread.
Program small_program() {
  ProgramBuilder b("small", "virtual-64", 2);
  const BufferId in = b.buffer("in0", {0}, 128_B, BufferRole::input);
  const BufferId keep = b.buffer("keep0", {0}, 128_B, BufferRole::output);
  const BufferId out = b.buffer("out1", {1}, 128_B, BufferRole::output);
  const SignalId done = b.signal("done");
  const QueueId dma = b.dma_queue("dma0.2", {0}, {2});
  const QueueId host = b.host_queue("host");
  const Region src = make_region(in, {}, 128_B);
  b.add(dma, Copy{src, make_region(out, {}, 128_B)}).add(dma, Copy{src, make_region(keep, {}, 128_B)});
  b.add(dma, Signal{done, 3}).add(host, Submit{dma}).add(host, Wait{done, 3});
  b.contract(point_to_point_contract(src, make_region(out, {}, 128_B)));
  return std::move(b).finish();
}

TEST(Count, TellsLocalCopiesFromThoseThatCrossGpus) {
  const ProgramCounts counts = count(small_program());
  EXPECT_EQ(counts.commands, 1u);
  EXPECT_EQ(counts.local_copies, 1u);
  EXPECT_EQ(counts.signals, 1u);
  EXPECT_EQ(counts.doorbells, 1u);
  EXPECT_EQ(counts.waits, 1u);
}

TEST(Count, PartsOfAKernelAreOneKernel) {
  ProgramBuilder b("parts", "virtual-64", 2);
  const Kernel kernel{};
  b.add(b.compute_queue("stream0", {0}), kernel).add(b.compute_queue("stream1", {1}), kernel);
  for (const char* part : {"a", "b", "c"}) b.add(b.compute_queue(part, {1}, 0, 4U, "cores"), kernel);
  b.compute_queue("d", {0}, 0, 4U, "cores");
  EXPECT_EQ(count(b.peek()).kernels, 2u + 2u);  // two in streams; cores of rank 0 and of rank 1
  EXPECT_THAT(listing(b.peek()),
              testing::HasSubstr("compute queue a, rank 1, at most 4 compute units, part of kernel cores"));
}

TEST(Count, SurvivesUnknownIds) {
  Program program = small_program();
  program.queues[0].commands.push_back(Copy{make_region({99}, {}, 1_B), make_region({98}, {}, 1_B)});
  program.queues[1].commands.push_back(Submit{{77}});
  EXPECT_EQ(count(program).doorbells, 1u);
}

TEST(SignalAdvances, SumsAddsAndTakesTheLargestSet) {
  Program program = small_program();
  EXPECT_THAT(signal_advances(program), ElementsAre(3));
  program.queues[1].commands.push_back(Trigger{{0}, 2});
  EXPECT_THAT(signal_advances(program), ElementsAre(5));
  program.signals.push_back({"step", {}});
  program.queues[0].commands.push_back(Signal{{1}, 4, SignalOp::set});
  program.queues[0].commands.push_back(Signal{{1}, 9, SignalOp::set});
  EXPECT_THAT(signal_advances(program), ElementsAre(5, 9));
}

TEST(Caller, IsTheRanksOwnHostQueueOrTheFirstForAll) {
  Program program = small_program();
  EXPECT_EQ(caller_queue(program, {0}), QueueId{1});
  program.queues.push_back({"host1", QueueKind::host, RankId{1}, {}, 0, {}, {}});
  EXPECT_EQ(caller_queue(program, {0}), QueueId{1});
  EXPECT_EQ(caller_queue(program, {1}), QueueId{2});
}

TEST(Caller, ReadsOutputsAndWritesInputsOfItsRankOnce) {
  Program program = small_program();
  program.contract.clauses.push_back(program.contract.clauses[0]);
  EXPECT_EQ(caller_inputs(program, {0}).size(), 1u);  // the same block in two clauses
  EXPECT_TRUE(caller_inputs(program, {1}).empty());
  EXPECT_TRUE(caller_outputs(program, {0}).empty());
  EXPECT_EQ(caller_outputs(program, {1}).size(), 2u);
}

TEST(Caller, WritesFactorsAndReadsProducts) {
  Program program = small_program();
  const Region a{{0}, {0}, {8}, 2, {8}};
  const Region b{{0}, {64}, {8}, 2, {8}};
  const Region c{{2}, {0}, {8}, 4, {8}};
  program.contract.products = {{c, {{{a, a}, b}}, DType::f32}};
  EXPECT_EQ(caller_inputs(program, {0}).size(), 3u);  // the term of the clause, A once, B
  EXPECT_EQ(caller_outputs(program, {1}).size(), 2u);
  EXPECT_EQ(caller_outputs(program, {1})[1], c);
}

TEST(Accesses, AddReadsAndWritesItsDestination) {
  const Region a = make_region({0}, {}, 4_B);
  const Region b = make_region({1}, {}, 4_B);
  const auto plain = accesses(Copy{a, b});
  ASSERT_EQ(plain.size(), 2u);
  EXPECT_EQ(plain[0].kind, AccessKind::read);
  EXPECT_EQ(plain[1].kind, AccessKind::write);
  EXPECT_EQ(accesses(Copy{a, b, CopyOp::add, DType::f32})[1].kind, AccessKind::read_write);
  EXPECT_EQ(bytes_written(Broadcast{a, b, b}).value, 8u);
}

TEST(Listing, SaysWhenWorkgroupsShareTheSumOfAGemm) {
  const Region m = make_region({0}, {}, 4_B);
  Gemm gemm{m, m, m, 1, 1, 4, DType::f8};
  EXPECT_EQ(to_string(small_program(), gemm), "gemm in0[0+4] = in0[0+4] * in0[0+4] (1x1x4 f8)");
  gemm.split_k = 2;
  EXPECT_THAT(to_string(small_program(), gemm), testing::HasSubstr("f8), k shared by 2"));
}

TEST(Listing, NamesQueuesAndCommands) {
  const std::string text = listing(small_program());
  EXPECT_THAT(text, testing::HasSubstr("dma queue dma0.2, rank 0, engine 2"));
  EXPECT_THAT(text, testing::HasSubstr("  0 copy in0[0+128] -> out1[0+128]"));
  EXPECT_THAT(text, testing::HasSubstr("wait done >= 3"));
}

}  // namespace visit_test
}  // namespace cortado
