// verify.race
#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cortado/program.hpp"

#include "verify/testing/programs.hpp"

namespace cortado::verifier {
namespace race_test {

using testing::commands_of;
using testing::errors_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::point_to_point;

void expect_race(const Program& program, const std::string& fragment) {
  const auto errors = errors_of(program);
  ASSERT_FALSE(errors.empty()) << fragment;
  EXPECT_EQ(errors[0].code, "verify.race") << to_string(errors[0]);
  EXPECT_FALSE(errors[0].hint.empty());
  bool found = false;
  for (const Diagnostic& error : errors) found = found || error.message.find(fragment) != std::string::npos;
  EXPECT_TRUE(found) << fragment << " is not in: " << to_string(errors[0]);
}

TEST(VerifyRace, GoodProgramsHaveNone) {
  for (const auto& [name, program] : testing::good_programs()) EXPECT_THAT(errors_of(program), IsEmpty()) << name;
}

TEST(VerifyRace, CallerReadsTooEarly) {
  Program program = point_to_point();
  commands_of(program, "host").pop_back();
  expect_race(program,
              "the caller of rank 1 may read the output out[0, 64) before rank 0, queue dma, command 0 "
              "(copy in[0+64] -> out[0+64]) has written it");
}

TEST(VerifyRace, CallerOverwritesAnInputThatIsStillRead) {
  // Per-rank hosts; rank 0 does not wait until its input is sent.
  Program program = testing::all_gather_per_rank(2);
  auto& host = commands_of(program, "host0");
  ASSERT_TRUE(std::holds_alternative<Wait>(host[4]));  // signal, wait, submit, submit, wait sent0, wait arrived0
  host.erase(host.begin() + 4);
  expect_race(program,
              "the caller of rank 0 may overwrite the input in0[0, 64) for the next iteration while rank 0, queue "
              "dma0.1, command 0");
}

// More readers of the same bytes than are examined at once.
TEST(VerifyRace, OfManyReadersEachIsOrderedOrReported) {
  constexpr std::uint32_t kRanks = 40;
  Program program = testing::all_gather_per_rank(kRanks);
  EXPECT_THAT(errors_of(program), IsEmpty());
  // Queue dma0.25 reads the input once more, after its signals: nothing waits for that.
  auto& commands = commands_of(program, "dma0.25");
  commands.push_back(commands.front());
  const auto errors = errors_of(program, {.max_errors_per_rule = 100});
  const auto about_input = std::ranges::count_if(errors, [](const Diagnostic& error) {
    return error.message.find("may overwrite the input in0[0, 64)") != std::string::npos;
  });
  EXPECT_EQ(about_input, 1);
  expect_race(program,
              "may overwrite the input in0[0, 64) for the next iteration while rank 0, queue dma0.25, command 3");
}

TEST(VerifyRace, NextIterationOverwritesAnOutputThatIsStillRead) {
  // Without the barrier at the start a fast rank writes into the output of a slow one.
  Program program = testing::all_gather_per_rank(2);
  for (const char* host : {"host0", "host1"}) {
    auto& commands = commands_of(program, host);
    commands.erase(commands.begin(), commands.begin() + 2);
  }
  expect_race(program,
              "of the next iteration may overwrite the output out1[0, 64) while the caller of rank 1 still reads "
              "it");
}

TEST(VerifyRace, ReorderedSignalsOfAQueueBreakTheCountFromThreeRanksOn) {
  // If a queue raises `sent` before `arrived`, its rank may go on, enter the next barrier and let a third rank raise
  // `arrived` again before this queue has raised it once.
  EXPECT_THAT(errors_of(testing::all_gather_per_rank(3, 64, false)), IsEmpty());
  const auto errors = errors_of(testing::all_gather_per_rank(3, 64, true));
  EXPECT_THAT(errors, IsEmpty()) << "both signals stand behind the copy";
  // The data is safe because both signals come after the copy; but a copy between them is not covered.
  Program program = testing::all_gather_per_rank(3, 64, true);
  for (Queue& queue : program.queues) {
    if (queue.kind == QueueKind::dma) std::swap(queue.commands[0], queue.commands[1]);
  }
  expect_race(program, "the caller of rank");
}

TEST(VerifyRace, ConsecutiveCopiesOfADmaQueueMayOverlap) {
  // Two copies of one queue to the same place, without a Signal between.
  Program program = point_to_point();
  auto& dma = commands_of(program, "dma");
  dma.insert(dma.begin(), dma[0]);
  expect_race(program, "queue dma, command 0 (copy in[0+64] -> out[0+64]) and rank 0, queue dma, command 1");
  dma.insert(dma.begin() + 1, Timestamp{"between"});
  EXPECT_THAT(errors_of(program), IsEmpty());
}

TEST(VerifyRace, AWaitDoesNotFinishEarlierCopies) {
  Program program = point_to_point();
  program.signals.push_back({"go", {}});
  auto& dma = commands_of(program, "dma");
  dma.insert(dma.begin(), dma[0]);
  dma.insert(dma.begin() + 1, Wait{{1}});
  commands_of(program, "host").insert(commands_of(program, "host").begin() + 1, Trigger{{1}});
  expect_race(program, "nothing orders them");
}

TEST(VerifyRace, CommandsOfAComputeQueueAreOrdered) {
  Program program = point_to_point();
  auto& commands = commands_of(program, "dma");
  commands.insert(commands.begin(), commands[0]);
  program.queues[1].kind = QueueKind::compute;
  program.queues[1].engine.reset();
  EXPECT_THAT(errors_of(program), IsEmpty());
}

TEST(VerifyRace, CopyWithoutASignalRacesWithItsNextIteration) {
  // A second queue copies into scratch and nobody waits for it.
  Program program = point_to_point();
  program.buffers.push_back({"scratch", {0}, {64}, BufferRole::scratch});
  program.queues.push_back({"lost",
                            QueueKind::dma,
                            RankId{0},
                            EngineId{2},
                            0,
                            {},
                            {Copy{make_region({0}, {0}, {64}), make_region({2}, {0}, {64})}}});
  commands_of(program, "host").insert(commands_of(program, "host").begin(), Submit{{2}});
  expect_race(program,
              "the caller of rank 0 may overwrite the input in[0, 64) for the next iteration while rank 0, queue "
              "lost, command 0");
}

/// A 16 x 64 matrix whose halves are copied by two queues; `second` is the offset of the second panel.
Program column_panels(std::uint64_t second) {
  ProgramBuilder builder("test", "test", 2);
  const BufferId in = builder.buffer("in", {0}, {1024}, BufferRole::input);
  const BufferId out = builder.buffer("out", {1}, {1024}, BufferRole::output);
  builder.contract(point_to_point_contract(make_region(in, {0}, {1024}), make_region(out, {0}, {1024})));
  const SignalId done = builder.signal("done");
  const QueueId host = builder.host_queue("host");
  const auto panel = [](BufferId id, std::uint64_t offset) { return Region{id, {offset}, {32}, 16, {64}}; };
  for (const std::uint64_t offset : {std::uint64_t{0}, second}) {
    const QueueId dma = builder.dma_queue("dma" + std::to_string(offset), {0}, {3});
    builder.add(dma, Copy{panel(in, offset), panel(out, offset)}).add(dma, Signal{done});
    builder.add(host, Submit{dma});
  }
  builder.add(host, Wait{done, 2});
  return std::move(builder).finish();
}

TEST(VerifyRace, ColumnPanelsDoNotRace) {
  EXPECT_THAT(errors_of(column_panels(32)), IsEmpty());
  expect_race(column_panels(28), "touch out[28, 32) of rank 1");
}

TEST(VerifyRace, TileRowsMayBeReadOnceTheyAreSignalled) {
  EXPECT_THAT(errors_of(testing::gemm_with_tile_signals()), IsEmpty());
  // The first copy now takes a byte of the second tile row.
  Program program = testing::gemm_with_tile_signals();
  auto& copy = std::get<Copy>(commands_of(program, "dma")[2]);
  copy.src.width = copy.dst.width = {33};
  expect_race(program, "c[32, 33) of rank 0");
}

TEST(VerifyRace, ScatterTouchesOnlyItsRows) {
  // Two compute queues scatter into different rows of one buffer.
  ProgramBuilder builder("test", "test", 1);
  const BufferId in = builder.buffer("in", {0}, {64}, BufferRole::input);
  const BufferId out = builder.buffer("out", {0}, {64}, BufferRole::output);
  Contract contract{"rows", {}};
  const SignalId done = builder.signal("done");
  const QueueId host = builder.host_queue("host");
  const Region whole{out, {0}, {16}, 4, {16}};
  for (std::uint64_t half = 0; half < 2; ++half) {
    const QueueId stream = builder.compute_queue("stream" + std::to_string(half), {0});
    const Region source{in, {32 * half}, {16}, 2, {16}};
    // Half 0 goes to rows 0 and 2, half 1 to rows 1 and 3.
    builder.add(stream, Kernel{KernelOp::scatter_rows, {source}, whole, DType::u8, {half, half + 2}});
    builder.add(stream, Signal{done});
    builder.add(host, Submit{stream});
    for (std::uint64_t row = 0; row < 2; ++row) {
      contract.clauses.push_back({make_region(out, {(half + 2 * row) * 16}, {16_B}),
                                  {make_region(in, {32 * half + 16 * row}, {16_B})},
                                  DType::u8});
    }
  }
  builder.add(host, Wait{done, 2});
  builder.contract(contract);
  Program program = std::move(builder).finish();
  EXPECT_THAT(errors_of(program), IsEmpty());
  std::get<Kernel>(commands_of(program, "stream1")[0]).rows = {0, 3};
  expect_race(program, "touch out[0, 16) of rank 0");
}

TEST(VerifyRace, IsToldOncePerPairAndUpToTheLimit) {
  Program program = testing::all_gather(3);
  auto& host = commands_of(program, "host");
  host.resize(9);  // no waits: nine copies race with caller and next iteration
  VerifyOptions options;
  options.max_errors_per_rule = 4;
  EXPECT_EQ(errors_of(program, options).size(), 4U);
  options.max_errors_per_rule = 1000;
  const auto errors = errors_of(program, options);
  for (std::size_t i = 0; i < errors.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(errors[i].message, errors[j].message);
  }
}

}  // namespace race_test
}  // namespace cortado::verifier
