// verify.units, and tiles that wait in the other rules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "verify/testing/programs.hpp"

namespace cortado::verifier {
namespace units_test {

using testing::codes_of;
using testing::commands_of;
using ::testing::ElementsAre;
using testing::errors_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Gemm& gemm_of(Program& program, const std::string& queue) {
  return std::get<Gemm>(commands_of(program, queue).front());
}

/// gemm_whose_tiles_wait with a kernel on rank 0 in the place of the engine: it reads the rows of rank 1.
struct Copies {
  bool kernel = false;  ///< parts of a kernel hold their units from launch to end
  bool first = true;    ///< submitted before the Gemm
  std::int32_t priority = 0;
  std::optional<std::uint32_t> gemm_units{};
};

Program with_copies_on_units(const Copies& copies) {
  Program program = testing::gemm_whose_tiles_wait();
  Queue& dma = program.queues[0];
  dma = {.name = "copies",
         .kind = QueueKind::compute,
         .rank = RankId{0},
         .priority = copies.priority,
         .commands = dma.commands};
  if (copies.kernel) dma.kernel = "copies";
  program.queues[1].compute_units = copies.gemm_units;
  // Sixteen tiles can hold all eight units.
  Gemm& gemm = gemm_of(program, "stream");
  gemm.tile_m = gemm.tile_n = 1;
  gemm.waits.front().tiles = 8;
  if (!copies.first) std::swap(commands_of(program, "host")[0], commands_of(program, "host")[1]);
  return program;
}

TEST(VerifyUnits, EnginesNeedNoUnits) {
  EXPECT_THAT(errors_of(testing::gemm_whose_tiles_wait()), IsEmpty());
}

TEST(VerifyUnits, CopiesBehindAPersistentGemmMayNeverStart) {
  const auto errors = errors_of(with_copies_on_units({.first = false}));
  ASSERT_THAT(errors, SizeIs(1));
  EXPECT_EQ(errors[0].code, "verify.units");
  EXPECT_EQ(errors[0].place.queue, "stream");
  EXPECT_THAT(errors[0].message, HasSubstr("may hold 8 of the 8 compute units of GPU 0 forever"));
  EXPECT_THAT(errors[0].message, HasSubstr("queue copies, command 0"));
}

TEST(VerifyUnits, ALimitLeavesUnits) {
  EXPECT_THAT(errors_of(with_copies_on_units({.first = false, .gemm_units = 7})), IsEmpty());
  EXPECT_THAT(codes_of(with_copies_on_units({.first = false, .gemm_units = 8})), ElementsAre("verify.units"));
}

TEST(VerifyUnits, AGemmHoldsNoMoreUnitsThanItHasWorkgroups) {
  Program program = with_copies_on_units({.first = false});
  Gemm& gemm = gemm_of(program, "stream");
  gemm.tile_m = 2;
  gemm.tile_n = 4;
  gemm.waits.front().tiles = 1;
  EXPECT_THAT(errors_of(program), IsEmpty()) << "two tiles on eight units";
  gemm.split_k = 4;
  EXPECT_THAT(codes_of(program), ElementsAre("verify.units"));
}

/// Kernels, or parts of one, that each raise a signal and then wait until all of them have.
Program parts_that_meet(std::uint32_t parts, bool one_kernel, std::uint32_t units) {
  ProgramBuilder builder("test", "test", 1);
  const BufferId in = builder.buffer("in", {0}, {64}, BufferRole::input);
  const BufferId out = builder.buffer("out", {0}, {64}, BufferRole::output);
  const SignalId met = builder.signal("met");
  const SignalId done = builder.signal("done");
  const QueueId host = builder.host_queue("host");
  for (std::uint32_t i = 0; i < parts; ++i) {
    const std::string name = "part" + std::to_string(i);
    const QueueId part = builder.compute_queue(name, {0}, 0, units, one_kernel ? "kernel" : name);
    builder.add(part, Signal{met}).add(part, Wait{met, parts});
    if (i == 0) builder.add(part, Copy{make_region(in, {0}, {64}), make_region(out, {0}, {64})});
    builder.add(part, Signal{done}).add(host, Submit{part});
  }
  builder.add(host, Wait{done, parts});
  builder.contract(point_to_point_contract(make_region(in, {0}, {64}), make_region(out, {0}, {64})));
  return std::move(builder).finish();
}

TEST(VerifyUnits, AKernelNeedsUnitsToRaiseASignal) {
  EXPECT_THAT(errors_of(parts_that_meet(2, false, 4)), IsEmpty());
  EXPECT_THAT(codes_of(parts_that_meet(2, false, 8)), ElementsAre("verify.units"));
  EXPECT_THAT(codes_of(parts_that_meet(3, false, 4)), ElementsAre("verify.units"));
}

TEST(VerifyUnits, AllPartsOfAKernelThatMeetNeedUnits) {
  EXPECT_THAT(errors_of(parts_that_meet(8, true, 1)), IsEmpty());
  EXPECT_THAT(codes_of(parts_that_meet(9, true, 1)), ElementsAre("verify.units"));
}

TEST(VerifyUnits, AKernelThatIsLaunchedFirstHoldsItsUnits) {
  EXPECT_THAT(errors_of(with_copies_on_units({.kernel = true})), IsEmpty());
  EXPECT_THAT(codes_of(with_copies_on_units({.kernel = true, .first = false})), ElementsAre("verify.units"));
}

TEST(VerifyUnits, TheFirstCopyOfAStreamThatIsLaunchedFirstGetsItsUnits) {
  Program program = with_copies_on_units({});
  EXPECT_THAT(errors_of(program), IsEmpty());
  // A second one is launched only when the first is over; tiles may have all units by then.
  auto& copies = commands_of(program, "copies");
  const Copy whole = std::get<Copy>(copies[0]);
  const auto half = [](const Region& region, std::uint64_t at) {
    return make_region(region.buffer, region.offset + Bytes{at}, {16});
  };
  copies[0] = Copy{half(whole.src, 0), half(whole.dst, 0)};
  copies.insert(copies.begin() + 1, Copy{half(whole.src, 16), half(whole.dst, 16)});
  EXPECT_THAT(codes_of(program), ElementsAre("verify.units"));
  // Parts of a kernel do not give their units back in between.
  program.queues[0].kernel = "copies";
  EXPECT_THAT(errors_of(program), IsEmpty());
}

TEST(VerifyUnits, ALowerPriorityGivesLaunchedFirstAway) {
  EXPECT_THAT(errors_of(with_copies_on_units({.priority = 1})), IsEmpty());
  for (const bool kernel : {false, true}) {
    EXPECT_THAT(codes_of(with_copies_on_units({.kernel = kernel, .priority = -1})), ElementsAre("verify.units"));
  }
}

// Without a barrier the GEMM of the next iteration may begin while the last copy of this one, for which nobody waits,
// still runs: then the first copy of the next iteration is launched behind the GEMM.
TEST(VerifyUnits, AKernelOfTheLastIterationIsInTheWay) {
  for (const bool kernel : {false, true}) {
    Program program = with_copies_on_units({.kernel = kernel});
    program.buffers.push_back({"rest", RankId{0}, {32}, BufferRole::scratch});
    const BufferId rest{static_cast<std::uint32_t>(program.buffers.size() - 1)};
    commands_of(program, "copies").emplace_back(Copy{make_region(rest, {0}, {16}), make_region(rest, {16}, {16})});
    EXPECT_THAT(codes_of(program), ElementsAre("verify.units"));
    // The host waits for it, too.
    program.signals.push_back({"rested"});
    const SignalId rested{static_cast<std::uint32_t>(program.signals.size() - 1)};
    commands_of(program, "copies").emplace_back(Signal{rested});
    commands_of(program, "host").emplace_back(Wait{rested});
    EXPECT_THAT(errors_of(program), IsEmpty());
  }
}

// Nobody takes units away from tiles that wait.
TEST(VerifyUnits, APriorityAloneDoesNotHelp) {
  EXPECT_THAT(codes_of(with_copies_on_units({.first = false, .priority = 1})), ElementsAre("verify.units"));
}

// Each GPU waits for the copies that the other one cannot start.
TEST(VerifyUnits, CirclesGoOverSeveralGpus) {
  ProgramBuilder builder("test", "test", 2);
  Contract contract{"products", {}};
  const auto matrix = [](BufferId id, std::uint64_t row, std::uint64_t rows) {
    return Region{id, Bytes{16 * row}, {16}, rows, {16}};
  };
  std::vector<BufferId> as, bs, cs, rows;
  std::vector<SignalId> arrived, done;
  for (std::uint32_t r = 0; r < 2; ++r) {
    as.push_back(builder.buffer("a" + std::to_string(r), {r}, {32}, BufferRole::scratch));
    bs.push_back(builder.buffer("b" + std::to_string(r), {r}, {64}, BufferRole::input));
    cs.push_back(builder.buffer("c" + std::to_string(r), {r}, {32}, BufferRole::output));
    rows.push_back(builder.buffer("rows" + std::to_string(r), {r}, {32}, BufferRole::input));
    arrived.push_back(builder.signal("arrived" + std::to_string(r), RankId{r}));
    done.push_back(builder.signal("done" + std::to_string(r)));
  }
  const QueueId host = builder.host_queue("host");
  for (std::uint32_t r = 0; r < 2; ++r) {
    contract.products.push_back(
        {matrix(cs[r], 0, 2), {{{matrix(rows[1 - r], 0, 2)}, matrix(bs[r], 0, 4)}}, DType::f32});
    Gemm gemm{matrix(as[r], 0, 2), matrix(bs[r], 0, 4), {}, 2, 4, 4};
    gemm.outputs = {{0, 0, 2, 4, matrix(cs[r], 0, 2)}};
    gemm.waits = {{0, arrived[r], 1}};
    gemm.tile_m = gemm.tile_n = 1;
    const QueueId stream = builder.compute_queue("stream" + std::to_string(r), {r});
    builder.add(stream, gemm).add(stream, Signal{done[r]});
    const QueueId push = builder.compute_queue("push" + std::to_string(r), {r});
    builder.add(push, Copy{make_region(rows[r], {0}, {32}), make_region(as[1 - r], {0}, {32})});
    builder.add(push, Signal{arrived[1 - r]});
    builder.add(host, Submit{stream}).add(host, Submit{push});
  }
  builder.contract(contract);
  builder.add(host, Wait{done[0]}).add(host, Wait{done[1]});
  const auto errors = errors_of(std::move(builder).finish());
  ASSERT_THAT(errors, SizeIs(1));
  EXPECT_EQ(errors[0].code, "verify.units");
  EXPECT_THAT(errors[0].message, HasSubstr("push1"));
  EXPECT_THAT(errors[0].message, HasSubstr("push0"));
}

TEST(TilesThatWait, ReadWhatArrivesBehindTheirWaitOnly) {
  Program program = testing::gemm_whose_tiles_wait();
  gemm_of(program, "stream").waits.front().tiles = 0;
  EXPECT_THAT(errors_of(program), IsEmpty()) << "waiting for more than is needed is no mistake";
  // The second tile first: the wait holds back the tile that does not need it.
  std::swap(gemm_of(program, "stream").outputs[0], gemm_of(program, "stream").outputs[1]);
  gemm_of(program, "stream").waits.front().tiles = 1;
  const auto errors = errors_of(program);
  ASSERT_FALSE(errors.empty());
  EXPECT_EQ(errors[0].code, "verify.race");
}

// Groups of tiles are not ordered: that the first one waited says nothing of the second.
TEST(TilesThatWait, AGroupIsNotBehindTheWaitsOfAnEarlierOne) {
  Program program = testing::gemm_whose_tiles_wait();
  Gemm& gemm = gemm_of(program, "stream");
  const SignalId arrived = gemm.waits.front().signal;
  const SignalId early{static_cast<std::uint32_t>(program.signals.size())};
  program.signals.push_back({"early"});
  auto& host = commands_of(program, "host");
  host.insert(host.begin(), Signal{early});
  gemm.waits = {{0, arrived, 1}, {1, early, 1}};
  const auto errors = errors_of(program);
  ASSERT_FALSE(errors.empty());
  EXPECT_EQ(errors[0].code, "verify.race");
}

// Tiles start in the order they are produced: one that waits may hold the unit that a later one needs.
TEST(TilesThatWait, DoNotWaitForLaterTiles) {
  Program program = testing::gemm_whose_tiles_wait();
  Gemm& gemm = gemm_of(program, "stream");
  const SignalId own{static_cast<std::uint32_t>(program.signals.size())};
  program.signals.push_back({"own", RankId{0}});
  gemm.raises = {{2, own, 1}};
  gemm.waits = {{0, own, 1}, {1, gemm.waits.front().signal, 1}};
  const auto errors = errors_of(program);
  ASSERT_THAT(errors, SizeIs(2));  // the stream, and the host, which waits for it
  EXPECT_EQ(errors[0].code, "verify.deadlock");
  EXPECT_EQ(errors[1].code, "verify.deadlock");
  EXPECT_THAT(errors[0].hint + errors[1].hint, HasSubstr("order they are produced"));
}

TEST(TilesThatWait, NeedAnOutputMap) {
  Program program = testing::gemm_whose_tiles_wait();
  Gemm& gemm = gemm_of(program, "stream");
  gemm.c = {gemm.outputs[0].to.buffer, {0}, {16}, 4, {16}};
  gemm.outputs.clear();
  EXPECT_THAT(codes_of(program), ElementsAre("verify.bounds"));
}

}  // namespace units_test
}  // namespace cortado::verifier
