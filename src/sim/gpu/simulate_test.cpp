#include "sim/gpu/simulate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cortado/plan.hpp"
#include "cortado/program.hpp"

#include "ir/visit.hpp"

namespace cortado::sim {
namespace simulate_test {

/// virtual-64 has round numbers: packet 50, submit 500, trigger 100, poll 20, fetch, wake, copy_start and sync 1000,
/// copy_issue 500 ns; engines and links 50 GB/s, so a byte takes 20 ps.
Machine round_machine() {
  return load_machine("virtual-64").value();
}

CheckedProgram planned(const CollectiveRequest& request, const Machine& machine) {
  auto program = plan_collective(request, machine);
  EXPECT_TRUE(program) << to_string(program.error());
  auto verified = verify(*std::move(program), machine);
  EXPECT_TRUE(verified) << to_string(verified.error().front());
  return *std::move(verified);
}

Simulated simulated(const CollectiveRequest& request, const SimulateOptions& options = {}) {
  const auto result = simulate(planned(request, round_machine()), options);
  EXPECT_TRUE(result) << to_string(result.error());
  return *result;
}

TEST(Simulate, OneCopyIsTheSumOfItsPhases) {
  const Simulated result = simulated({.collective = "point-to-point", .bytes = 50'000_B, .ranks = 2});
  // control: 2 packets of 50 and a submission of 500; schedule: fetch 1000; copy: start 1000 and 50,000 B at 50 B/ns =
  // 1000; sync 1000; the host sees the signal 20 later.
  EXPECT_EQ(median_time(result.timeline).value, 2 * 50 + 500 + 1000 + 1000 + 1000 + 1000 + 20);
  EXPECT_EQ(result.timeline.bytes_moved, 50'000_B);
}

TEST(Simulate, PrelaunchTakesSubmissionAndFetchOutOfTheTime) {
  const Simulated result =
      simulated({.collective = "point-to-point", .bytes = 50'000_B, .ranks = 2, .prelaunch = true});
  // trigger 100; wake 1000; copy 2000; sync 1000; poll 20. The submission is over before the trigger, but the engine
  // has not read its packets yet when the trigger is written (fetch 1000 against trigger 100): it then finds the
  // counter there and does not need to be woken: fetch 1000 instead of trigger 100 + wake 1000.
  EXPECT_EQ(median_time(result.timeline).value, 1000 + 2000 + 1000 + 20);
}

TEST(Simulate, BackToBackCopiesOverlapAllButTheirIssue) {
  // Three copies of 50 B (1 ns) on one queue: the starts are 500 apart; start-up 1000, the last byte 1 later, then
  // sync.
  const Simulated result =
      simulated({.collective = "all-gather", .variant = "b2b", .bytes = 200_B, .ranks = 4, .in_place = true});
  const std::int64_t submit = 4 * 50 + 500;  // 3 copies and a signal
  // The host submits four queues one after another and then looks at four signals; the last queue decides.
  EXPECT_EQ(median_time(result.timeline).value, 4 * submit + 1000 + 2 * 500 + 1000 + 1 + 1000 + 20);
}

TEST(Simulate, AnEngineIsSharedByTheCopiesInFlight) {
  // Large blocks: 3 copies of B bytes by one engine of 50 GB/s take 3 B / 50, whatever overlaps.
  constexpr Bytes kBlock = 50'000'000_B;  // 1 ms
  const Simulated result =
      simulated({.collective = "all-gather", .variant = "b2b", .bytes = 4 * kBlock, .ranks = 4, .in_place = true});
  EXPECT_NEAR(static_cast<double>(median_time(result.timeline).value), 3e6, 0.003 * 3e6);
}

TEST(Simulate, TheSameRunGivesTheSameTimeline) {
  const CollectiveRequest request{.collective = "all-reduce", .bytes = 100'000_B, .ranks = 5};
  const Simulated a = simulated(request, {.iterations = 3, .trace = true, .sharing = {}});
  const Simulated b = simulated(request, {.iterations = 3, .trace = true, .sharing = {}});
  ASSERT_EQ(a.timeline.spans.size(), b.timeline.spans.size());
  for (std::size_t i = 0; i < a.timeline.spans.size(); ++i) {
    EXPECT_EQ(a.timeline.spans[i].start, b.timeline.spans[i].start);
    EXPECT_EQ(a.timeline.spans[i].end, b.timeline.spans[i].end);
  }
  EXPECT_EQ(a.timeline.iteration_times, b.timeline.iteration_times);
}

TEST(Simulate, MovesEveryByteAndIsNeverFasterThanTheLinks) {
  const Machine machine = round_machine();
  for (const VariantInfo& variant : list_variants()) {
    CollectiveRequest request{.collective = variant.collective, .variant = variant.variant, .bytes = 6_MiB, .ranks = 6};
    request.in_place = !variant.out_of_place;
    if (variant.variant.starts_with("add") || variant.variant == "mcast") continue;  // virtual-64 has neither
    if (variant.of_library || variant.variant == kLibraryVariant) continue;          // the machine knows no library
    const CheckedProgram program = planned(request, machine);
    const auto result = simulate(program, {.iterations = 2, .trace = true, .sharing = {}});
    ASSERT_TRUE(result) << to_string(result.error());
    Bytes moved;
    std::uint64_t largest = 0;
    for (const Queue& queue : program.program().queues) {
      for (const Command& command : queue.commands) {
        if (!moves_bytes(command)) continue;
        moved += bytes_written(command);
        largest = std::max(largest, accesses(command).front().region.bytes().value);
      }
    }
    EXPECT_EQ(result->timeline.bytes_moved, 2 * moved);
    for (const Nanoseconds time : result->timeline.iteration_times) {
      EXPECT_GE(time.value, static_cast<std::int64_t>(largest) / 50);  // one command over one link
    }
    for (const Span& span : result->timeline.spans) EXPECT_GE(span.end, span.start);
  }
}

TEST(Simulate, AProgramThatCannotGoOnSaysWhoWaits) {
  auto program = plan_collective({.collective = "point-to-point", .bytes = 8_B, .ranks = 2}, round_machine());
  ASSERT_TRUE(program);
  auto& commands = program->queues[0].commands;  // the dma queue loses its signal
  ASSERT_TRUE(std::holds_alternative<Signal>(commands.back()));
  commands.pop_back();
  const auto result = simulate(unproved(*std::move(program), round_machine()));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, "sim.stall");
  EXPECT_THAT(result.error().message, testing::HasSubstr("queue host at command"));
}

// The hosts do not wait for each other: without the wait, the first copy of an iteration would begin before the second
// one of the previous iteration has ended.
TEST(Simulate, AWaitForZeroHoldsBackTheNextIterationOnly) {
  const Machine machine = round_machine();
  ProgramBuilder builder("relay", machine.name, 2);
  const Bytes bytes = 1_MiB;
  const Region in = make_region(builder.buffer("in", RankId{0}, bytes, BufferRole::input), {}, bytes);
  const Region middle = make_region(builder.buffer("middle", RankId{1}, bytes, BufferRole::scratch), {}, bytes);
  const Region out = make_region(builder.buffer("out", RankId{1}, bytes, BufferRole::output), {}, bytes);
  builder.contract(point_to_point_contract(in, out));
  const SignalId arrived = builder.signal("arrived");
  const SignalId credit = builder.signal("credit");
  const SignalId sent = builder.signal("sent");
  const QueueId sender = builder.host_queue("sender", RankId{0});
  const QueueId receiver = builder.host_queue("receiver", RankId{1});
  const QueueId first = builder.dma_queue("first", RankId{0}, machine.engine_towards(RankId{0}, RankId{1}));
  const QueueId second = builder.dma_queue("second", RankId{1}, machine.engine_towards(RankId{1}, RankId{0}));
  builder.add(first, Wait{credit, 0}).add(first, Copy{in, middle});
  builder.add(first, Signal{arrived}).add(first, Signal{sent});
  builder.add(second, Wait{arrived}).add(second, Copy{middle, out}).add(second, Signal{credit});
  builder.add(sender, Submit{first}).add(sender, Wait{sent});
  builder.add(receiver, Submit{second}).add(receiver, Wait{credit});
  const auto verified = verify(std::move(builder).finish(), machine);
  ASSERT_TRUE(verified) << to_string(verified.error().front());
  const auto result = simulate(*verified, {.iterations = 3, .trace = true, .sharing = {}});
  ASSERT_TRUE(result) << to_string(result.error());
  std::vector<const Span*> copies;  // first and second of each iteration, in order
  for (const Span& span : result->timeline.spans) {
    if (span.kind == SpanKind::copy) copies.push_back(&span);
  }
  std::ranges::sort(copies, {}, [](const Span* span) { return span->start; });
  ASSERT_EQ(copies.size(), 6U);
  for (std::size_t i = 0; i < copies.size(); ++i) {
    EXPECT_EQ(copies[i]->iteration, i / 2);
    if (i == 0) continue;
    EXPECT_GE(copies[i]->start, copies[i - 1]->end) << i;
  }
}

TEST(Simulate, AProgramWithoutCommandsTakesNoTime) {
  ProgramBuilder builder("nothing", "virtual-64", 2);
  builder.host_queue("host");
  const auto verified =
      check_program(std::move(builder).finish(), round_machine(), {.skip_rules = {"verify.contract"}});
  ASSERT_TRUE(verified) << to_string(verified.error().front());
  const auto result = simulate(*verified);
  ASSERT_TRUE(result);
  EXPECT_EQ(median_time(result->timeline).value, 0);
}

TEST(Simulate, AKernelThatReadsManyGpusIsRefused) {
  const auto reading = [](std::uint32_t gpus) {
    const Machine machine = load_machine("switch-1024").value();  // everybody reaches everybody
    ProgramBuilder builder("sum", machine.name, machine.gpus);
    Kernel kernel{KernelOp::reduce, {}, {}, DType::f32, {}};
    Clause clause{{}, {}, DType::f32};
    for (std::uint32_t i = 0; i < gpus; ++i) {
      const BufferId in = builder.buffer("in" + std::to_string(i), RankId{i}, 64_B, BufferRole::input);
      kernel.sources.push_back(make_region(in, {}, 64_B));
    }
    kernel.dst = make_region(builder.buffer("out", RankId{0}, 64_B, BufferRole::output), {}, 64_B);
    clause.output = kernel.dst;
    clause.terms = kernel.sources;
    const QueueId compute = builder.compute_queue("compute0", RankId{0});
    const SignalId done = builder.signal("done");
    builder.add(compute, kernel).add(compute, Signal{done});
    const QueueId host = builder.host_queue("host");
    builder.add(host, Submit{compute}).add(host, Wait{done});
    builder.contract({"sum", {clause}});
    const auto verified = verify(std::move(builder).finish(), machine);
    EXPECT_TRUE(verified) << to_string(verified.error().front());
    return simulate(*verified);
  };
  EXPECT_TRUE(reading(96));
  const auto refused = reading(97);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "sim.command");
}

TEST(Simulate, AMachineWithoutTimingIsRefused) {
  Machine machine = round_machine();
  machine.timing.reset();
  const auto result = simulate(planned({.collective = "all-gather", .bytes = 1_KiB, .ranks = 2}, machine));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, "sim.timing");
}

}  // namespace simulate_test
}  // namespace cortado::sim
