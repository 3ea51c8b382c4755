// What trackers order, and what they do not: rules verify.deadlock and verify.race on programs with trackers.
#include <algorithm>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cortado/program.hpp"

#include "verify/testing/interpreter.hpp"
#include "verify/testing/mapped.hpp"
#include "verify/testing/programs.hpp"

namespace cortado::verifier {
namespace tracked_order_test {

using testing::codes_of;
using testing::commands_of;
using ::testing::ElementsAre;
using testing::errors_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ring_of_products;

/// One rank: c (4 x 4 f32) = a * b in two blocks of two rows, stored to the buffers "upper" and "lower", each with a
/// tracker and a signal of that name. Queue "reader" waits for `waits` and copies `upper` to `out`.
struct TwoBlocks {
  explicit TwoBlocks(const std::vector<Wait>& waits = {{{0}}}) {
    const auto buffer = [&](const char* name, std::uint64_t bytes) {
      return builder.buffer(name, {0}, {bytes}, BufferRole::scratch);
    };
    const Region a{buffer("a", 64), {0}, {16}, 4, {16}};
    const Region b{buffer("b", 64), {0}, {16}, 4, {16}};
    const Region upper{buffer("upper", 32), {0}, {16}, 2, {16}};
    const Region lower{buffer("lower", 32), {0}, {16}, 2, {16}};
    const Region out{buffer("out", 32), {0}, {16}, 2, {16}};
    Gemm gemm{a, b, {}, 4, 4, 4};
    gemm.tile_m = gemm.tile_n = 2;
    gemm.outputs = {{0, 0, 2, 4, upper, CopyOp::add}, {2, 0, 2, 4, lower, CopyOp::add}};
    builder.tracker({"upper", upper, 1, builder.signal("upper"), 1});
    builder.tracker({"lower", lower, 1, builder.signal("lower"), 1});
    const SignalId tiles = builder.signal("tiles");
    const SignalId made = builder.signal("made");
    const SignalId read = builder.signal("read");
    gemm.raises = {{2, tiles, 1}};
    const QueueId stream = builder.compute_queue("stream", {0});
    const QueueId reader = builder.compute_queue("reader", {0});
    const QueueId host = builder.host_queue("host");
    builder.add(stream, gemm).add(stream, Signal{made});
    for (const Wait& wait : waits) builder.add(reader, wait);
    builder.add(reader, Copy{upper, out}).add(reader, Signal{read});
    builder.add(host, Submit{stream}).add(host, Submit{reader});
    for (const SignalId signal : {SignalId{0}, SignalId{1}, made, read}) builder.add(host, Wait{signal});
    testing::promise_nothing(builder);
  }
  Program finish() && { return std::move(builder).finish(); }

  ProgramBuilder builder{"test", "test", 1};
};

constexpr SignalId kUpper{0};
constexpr SignalId kLower{1};
constexpr SignalId kTiles{2};
constexpr SignalId kMade{3};

TEST(TrackedOrder, ATrackerOrdersItsBytesBeforeWhoWaitsForIt) {
  EXPECT_THAT(errors_of(TwoBlocks({{kUpper}}).finish()), IsEmpty());
}

TEST(TrackedOrder, ATrackerTellsNothingOfOtherBlocksOfTheProduct) {
  // `lower` is produced after `upper`, yet its tiles may be finished first.
  const auto errors = errors_of(TwoBlocks({{kLower}}).finish());
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].code, "verify.race");
  EXPECT_THAT(errors[0].message, HasSubstr("queue reader, command 1"));
  EXPECT_THAT(errors[0].message, HasSubstr("may read upper[0, 32) before tracker upper"));
  EXPECT_THAT(errors[0].hint, HasSubstr("wait for upper"));
}

TEST(TrackedOrder, TilesAndTheEndOfTheProductOrderAsEver) {
  EXPECT_THAT(errors_of(TwoBlocks({{kTiles}}).finish()), IsEmpty());
  EXPECT_THAT(errors_of(TwoBlocks({{kMade}}).finish()), IsEmpty());
  // One tile of two of the block.
  Program program = TwoBlocks({{kTiles}}).finish();
  std::get<Gemm>(commands_of(program, "stream")[0]).raises[0].tiles = 1;
  EXPECT_THAT(codes_of(program), ElementsAre("verify.race"));
}

TEST(TrackedOrder, TilesOfALaterPartAreNotBehindTheRaiseOfAnEarlierOne) {
  // A step that waits for `lower` knows nothing about `tiles`, which is raised for `upper`.
  Program program = TwoBlocks({{kLower}}).finish();
  std::get<Gemm>(commands_of(program, "stream")[0]).raises[0].tiles = 2;
  EXPECT_THAT(codes_of(program), ElementsAre("verify.race"));
}

TEST(TrackedOrder, TheNextIterationWaitsForTheTrackerEvenIfTheBytesAreThere) {
  // The host continues when the GEMM has finished; whether the trackers have reset by then is not known.
  Program program = TwoBlocks({{kMade}}).finish();
  auto& host = commands_of(program, "host");
  std::erase(host, Command{Wait{kLower}});
  const auto errors = errors_of(program);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].code, "verify.race");
  EXPECT_THAT(errors[0].message, HasSubstr("of the next iteration may update lower[0, 32) before tracker lower"));
}

/// Rank 0 copies in[0, 64) to `counted` and then in[64, 128) to `other`, both on rank 1; `counted` has a tracker.
Program two_copies(bool output_is_counted) {
  ProgramBuilder builder("test", "test", 2);
  const BufferId in = builder.buffer("in", {0}, {128}, BufferRole::input);
  const auto role = [](bool output) { return output ? BufferRole::output : BufferRole::scratch; };
  const Region counted = make_region(builder.buffer("counted", {1}, {64}, role(output_is_counted)), {0}, {64});
  const Region other = make_region(builder.buffer("other", {1}, {64}, role(!output_is_counted)), {0}, {64});
  const SignalId arrived = builder.signal("arrived");
  builder.tracker({"counted", counted, 1, arrived, 1});
  const QueueId dma = builder.dma_queue("dma", {0}, {2});
  const QueueId host = builder.host_queue("host");
  const Copy first{make_region(in, {0}, {64}), counted};
  const Copy second{make_region(in, {64}, {64}), other};
  builder.add(dma, first).add(dma, second);
  builder.add(host, Submit{dma}).add(host, Wait{arrived});
  const Copy& promised = output_is_counted ? first : second;
  builder.contract({"copy", {{promised.dst, {promised.src}}}, {}});
  return std::move(builder).finish();
}

TEST(TrackedOrder, ATrackerTellsNothingOfOtherCopiesOfTheQueue) {
  // `other` has no tracker and no signal: its copies of two iterations race, and so does the caller with them.
  const auto errors = errors_of(two_copies(false));
  ASSERT_FALSE(errors.empty());
  for (const Diagnostic& error : errors) {
    EXPECT_EQ(error.code, "verify.race");
    EXPECT_THAT(error.message, ::testing::AnyOf(HasSubstr("other[0, 64)"), HasSubstr("in[64, 128)")));
  }
  Program program = two_copies(true);
  commands_of(program, "dma").pop_back();
  EXPECT_THAT(errors_of(program), IsEmpty());
}

TEST(TrackedOrder, WhatACopyHasReadIsReadWhenItsTrackersHaveFired) {
  // The pieces that rank r passes on arrive in c of the next rank, whose trackers the host waits for.
  Program program = ring_of_products({3, 2, 1});
  auto& host = commands_of(program, "host");
  const auto sent = std::ranges::find_if(program.signals, [](const SignalInfo& s) { return s.name == "sent"; });
  const SignalId signal{static_cast<std::uint32_t>(sent - program.signals.begin())};
  ASSERT_EQ(std::erase(host, Command{Wait{signal, 3}}), 1U);
  EXPECT_THAT(errors_of(program), IsEmpty());
  for (std::uint64_t seed = 0; seed < 20; ++seed) EXPECT_TRUE(testing::interpret(program, 3, seed).right());
}

/// Ranks 0 and 1 add their input to `out` of rank 1, each submitted by its own host, which waits for the tracker. The
/// host of rank 1, the caller who reads, stands first. With `asks` rank 0 does so only when that host has begun.
Program sum_of_two(bool asks) {
  ProgramBuilder builder("test", "test", 2);
  const QueueId hosts[] = {builder.host_queue("host1", RankId{1}), builder.host_queue("host0", RankId{0})};
  const Region out = make_region(builder.buffer("out", {1}, {64}, BufferRole::output), {0}, {64});
  const SignalId go = builder.signal("go");
  const SignalId done = builder.signal("done");
  builder.tracker({"out", out, 2, done, 1});
  Clause clause{out, {}, DType::f32};
  builder.add(hosts[0], Signal{go});
  for (const std::uint32_t rank : {1U, 0U}) {
    const BufferId in = builder.buffer(fmt::format("in{}", rank), {rank}, {64}, BufferRole::input);
    const QueueId dma = builder.dma_queue(fmt::format("dma{}", rank), {rank}, {2});
    clause.terms.push_back(make_region(in, {0}, {64}));
    if (asks && rank == 0) builder.add(dma, Wait{go});
    builder.add(dma, Copy{clause.terms.back(), out, CopyOp::add, DType::f32});
    builder.add(hosts[1 - rank], Submit{dma}).add(hosts[1 - rank], Wait{done});
  }
  builder.contract({"sum", {clause}, {}});
  return std::move(builder).finish();
}

TEST(TrackedOrder, EveryUpdateComesAfterTheReadingOfTheIterationBefore) {
  // The update of rank 1 does, that of rank 0 need not, although both are one write.
  EXPECT_THAT(errors_of(sum_of_two(true)), IsEmpty());
  const auto errors = errors_of(sum_of_two(false));
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].code, "verify.race");
  EXPECT_THAT(errors[0].message, HasSubstr("queue dma0, command 0"));
  EXPECT_THAT(errors[0].message, HasSubstr("may overwrite the output out[0, 64) while the caller of rank 1"));
}

TEST(TrackedOrder, EveryUpdateComesAfterTheTrackerHasStartedOver) {
  // Host 0 continues as soon as its own copy is finished; that of rank 1 may still be in progress.
  Program program = sum_of_two(false);
  program.signals.push_back({"sent"});
  commands_of(program, "dma0").emplace_back(Signal{{2}});
  std::get<Wait>(commands_of(program, "host0")[1]).signal = {2};
  const auto errors = errors_of(program);
  EXPECT_TRUE(std::ranges::any_of(errors, [](const Diagnostic& error) {
    return error.code == "verify.race" && error.place.queue == "dma0" &&
           error.message.find("of the next iteration may update out[0, 64) before tracker out") != std::string::npos;
  })) << (errors.empty() ? "passes" : to_string(errors[0]));
}

TEST(TrackedOrder, AnUpdateOfTheNextIterationMayNotComeBeforeOtherBytesOfTheTracker) {
  // One tracker watches what two queues store. Host 0 continues as soon as its half has arrived; host 1 is slow.
  ProgramBuilder builder("test", "test", 1);
  const BufferId in = builder.buffer("in", {0}, {64}, BufferRole::scratch);
  const BufferId out = builder.buffer("out", {0}, {64}, BufferRole::scratch);
  const SignalId all = builder.signal("all");
  const SignalId half = builder.signal("half");
  const SignalId ping = builder.signal("ping");
  const SignalId pong = builder.signal("pong");
  builder.tracker({"out", make_region(out, {0}, {64}), 1, all, 1});
  const QueueId first = builder.dma_queue("first", {0}, {2});
  const QueueId second = builder.dma_queue("second", {0}, {2});
  const QueueId echo = builder.compute_queue("echo", {0});
  const QueueId host0 = builder.host_queue("host0");
  const QueueId host1 = builder.host_queue("host1");
  builder.add(first, Copy{make_region(in, {0}, {32}), make_region(out, {0}, {32})}).add(first, Signal{half});
  builder.add(second, Copy{make_region(in, {32}, {32}), make_region(out, {32}, {32})});
  builder.add(host0, Submit{first}).add(host0, Wait{half});
  builder.add(host1, Submit{echo});
  for (std::uint64_t i = 1; i <= 4; ++i) {
    builder.add(host1, Signal{ping}).add(host1, Wait{pong, i});
    builder.add(echo, Wait{ping, i}).add(echo, Signal{pong});
  }
  builder.add(host1, Submit{second}).add(host1, Wait{all});
  testing::promise_nothing(builder);
  Program program = std::move(builder).finish();
  const auto errors = errors_of(program);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].code, "verify.race");
  EXPECT_THAT(errors[0].message, HasSubstr("queue first, command 0"));
  EXPECT_THAT(errors[0].message, HasSubstr("of the next iteration may update out[0, 32) before tracker out"));
  commands_of(program, "host0").emplace_back(Wait{all});
  EXPECT_THAT(errors_of(program), IsEmpty());
}

TEST(TrackedOrder, ADeadlockNamesTheUpdateThatATrackerLacks) {
  Program program = TwoBlocks({{kUpper}}).finish();
  auto& stream = commands_of(program, "stream");
  stream.insert(stream.begin(), Wait{{4}});  // read, which is raised behind the reading of `upper`
  const auto errors = errors_of(program);
  ASSERT_FALSE(errors.empty());
  EXPECT_EQ(errors[0].code, "verify.deadlock");
  EXPECT_TRUE(std::ranges::any_of(errors, [](const Diagnostic& error) {
    return error.message.find(
               "should have been raised by tracker upper (upper[0+16 x 2 rows, pitch 16] of rank 0), which "
               "lacks the update by rank 0, queue stream, command 1") != std::string::npos;
  })) << to_string(errors[0]);
}

}  // namespace tracked_order_test
}  // namespace cortado::verifier
