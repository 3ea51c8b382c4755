// verify.machine: limits of packets, engines, links, rings and memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "verify/machine_limits.hpp"
#include "verify/testing/mapped.hpp"
#include "verify/testing/programs.hpp"

namespace cortado::verifier {
namespace machine_test {

using testing::commands_of;
using testing::point_to_point;
using testing::test_machine;

std::vector<Diagnostic> errors_on(const Machine& machine, const Program& program) {
  const auto result = verify(program, machine);
  return result ? std::vector<Diagnostic>{} : result.error();
}

void expect_error(const Machine& machine, const Program& program, const std::string& fragment) {
  const auto errors = errors_on(machine, program);
  ASSERT_FALSE(errors.empty()) << fragment;
  EXPECT_EQ(errors[0].code, "verify.machine") << to_string(errors[0]);
  EXPECT_THAT(errors[0].message, ::testing::HasSubstr(fragment));
  EXPECT_FALSE(errors[0].hint.empty());
}

Program with_command(const Command& command) {
  Program program = point_to_point();
  for (Buffer& buffer : program.buffers) buffer.size = {1 << 20};
  commands_of(program, "dma")[0] = command;
  return program;
}

TEST(VerifyMachine, BytesOfOnePacket) {
  Machine machine = test_machine(2);
  machine.dma.max_copy_bytes = {63};
  expect_error(machine, point_to_point(64), "a copy of 64 bytes; one packet of test takes at most 63");
  machine.dma.max_copy_bytes = {64};
  EXPECT_TRUE(errors_on(machine, point_to_point(64)).empty());
}

TEST(VerifyMachine, BroadcastDestinationsAgreeModulo32) {
  const Region src = make_region({0}, {0}, {64});
  const auto broadcast = [&](std::uint64_t first, std::uint64_t second) {
    return with_command(Broadcast{src, make_region({1}, {first}, {64}), make_region({1}, {second}, {64})});
  };
  expect_error(test_machine(2), broadcast(0, 1040), "are 0 and 16 bytes into a unit of 32 bytes");
  // 16 and 1040 = 32 * 32 + 16 agree.
  for (const auto& error : errors_on(test_machine(2), broadcast(16, 1040))) EXPECT_NE(error.code, "verify.machine");
}

TEST(VerifyMachine, SwapSidesStartAtMultiplesOf64) {
  expect_error(test_machine(2), with_command(Swap{make_region({0}, {64}, {64}), make_region({1}, {96}, {64})}),
               "out[96+64] starts 32 bytes after a multiple of 64");
}

TEST(VerifyMachine, MissingFeatures) {
  Machine machine = test_machine(2);
  machine.features = {};
  const Region a = make_region({0}, {0}, {64});
  const Region b = make_region({1}, {0}, {64});
  expect_error(machine, with_command(Swap{a, b}), "needs swap packets");
  expect_error(machine, with_command(Broadcast{a, b, make_region({1}, {64}, {64})}), "needs broadcast packets");
  expect_error(machine, with_command(Copy{a, b, CopyOp::add, DType::f32}), "needs memory or engines that add");
}

TEST(VerifyMachine, StridedCopies) {
  const auto copy = [](std::uint64_t width, std::uint64_t rows, std::uint64_t offset, std::uint64_t pitch) {
    return with_command(Copy{{{0}, {offset}, {width}, rows, {pitch}}, {{1}, {0}, {width}, rows, {pitch}}});
  };
  Machine machine = test_machine(2);
  machine.dma.max_window_elements = 16;
  // 256 bytes are 16 elements of 16 bytes. At an offset of 4 an element has only 4 bytes, and 256 bytes are 64 of them.
  for (const auto& error : errors_on(machine, copy(256, 4, 0, 1024))) EXPECT_NE(error.code, "verify.machine");
  expect_error(machine, copy(256, 4, 4, 1024), "64 x 4 elements of 4 bytes; one packet takes 16 x 16");
  expect_error(machine, copy(256, 17, 0, 1024), "16 x 17 elements of 16 bytes");
  machine = test_machine(2);
  expect_error(machine, copy(64, 4, 2, 1024), "must be multiples of 4");
  expect_error(machine, copy(64, 4, 0, 1022), "must be multiples of 4");
  machine.dma.max_pitch_elements = 63;
  expect_error(machine, copy(64, 4, 0, 1024), "a pitch of 64 elements of 16 bytes; the packet has room for 63");
}

TEST(VerifyMachine, EngineThatIsNotThere) {
  Program program = point_to_point();
  program.queues[1].engine = EngineId{99};
  expect_error(test_machine(2), program, "test has no engine 99");
}

TEST(VerifyMachine, EngineInTheTableButNotInSilicon) {
  Machine machine = test_machine(2);
  machine.engines[3].present = false;  // point_to_point() uses engine 3
  expect_error(machine, point_to_point(), "engine 3 of test is in the driver's table but not in silicon");
}

TEST(VerifyMachine, HostEnginesDoNotReachPeers) {
  Program program = point_to_point();
  program.queues[1].engine = EngineId{0};
  expect_error(test_machine(2), program, "engine 0 serves host memory and does not reach out of rank 1");
  // Signals in a peer's memory are out of reach as well.
  program = point_to_point();
  program.queues[1].engine = EngineId{0};
  program.buffers[1].rank = {0};
  program.signals[0].home = RankId{1};
  expect_error(test_machine(2), program, "does not reach done of rank 1");
}

TEST(VerifyMachine, MissingLink) {
  Machine machine = test_machine(2);
  machine.linked[0][1] = false;
  expect_error(machine, point_to_point(), "rank 0 has no link to out of rank 1");
}

TEST(VerifyMachine, QueuesOfOneEngine) {
  Machine machine = test_machine(2);
  machine.dma.queues_per_engine = 1;
  Program program = testing::all_gather(2);
  for (Queue& queue : program.queues) {
    if (queue.kind == QueueKind::dma) queue.engine = EngineId{2};
  }
  expect_error(machine, program, "engine 2 of rank 0 has more than 1 queues");
}

TEST(VerifyMachine, RingMustHoldAnIteration) {
  // One copy of 7 dwords and one atomic of 8 are 60 bytes; the ring keeps one byte free at least.
  const Program program = point_to_point();
  Machine machine = test_machine(2);
  EXPECT_EQ(frame_bytes(program.queues[1], machine.dma), 60U);
  machine.dma.ring_bytes = {64};
  EXPECT_TRUE(errors_on(machine, program).empty());
  machine.dma.ring_bytes = {60};
  expect_error(machine, program, "one iteration may take 60 bytes of packets");
}

TEST(VerifyMachine, FrameCountsEveryCommand) {
  const DmaLimits limits = test_machine(2).dma;
  const Region plain = make_region({0}, {0}, {64});
  const Region strided{{0}, {0}, {64}, 2, {128}};
  Queue queue;
  queue.commands = {Copy{plain, plain},
                    Copy{strided, strided},
                    Copy{plain, plain, CopyOp::add, DType::f32},
                    Broadcast{},
                    Swap{},
                    Wait{},
                    Signal{{0}, 1},
                    Signal{{0}, 1, SignalOp::set},
                    Timestamp{"t"}};
  // 7 + 13 + 7 + 9 + 7 + 2*6 + 8 + 2*4 + 3 dwords of 4 bytes
  EXPECT_EQ(frame_bytes(queue, limits), 4U * 74U);
}

TEST(VerifyMachine, MoreRanksThanGpus) {
  expect_error(test_machine(2), testing::all_gather(3), "the program has 3 ranks but test has 2 GPUs");
}

TEST(VerifyMachine, MemoryOfARank) {
  Machine machine = test_machine(2);
  machine.memory_bytes = {8192};
  Program program = point_to_point(4096);
  program.buffers.push_back({"more", {1}, {4096}, BufferRole::scratch});
  EXPECT_TRUE(errors_on(machine, program).empty());
  program.buffers.push_back({"one byte", {1}, {1}, BufferRole::scratch});  // takes a unit of 4096
  expect_error(machine, program, "the buffers of rank 1 up to one byte need more than the 8192 bytes");
  program.buffers.back().size = {~0ULL};
  expect_error(machine, program, "need more than the 8192 bytes");
  program.buffers.back().host = 0;  // not in the memory of the GPU
  EXPECT_TRUE(errors_on(machine, program).empty());
}

TEST(VerifyMachine, ComputeUnits) {
  Program program = testing::reduce_scatter(2);
  for (Queue& queue : program.queues) {
    if (queue.kind == QueueKind::compute) queue.compute_units = 9U;
  }
  expect_error(test_machine(2), program, "limited to 9 compute units; a GPU of test has 8");
}

TEST(VerifyMachine, TrackersNeedEntriesForAllTheirBytes) {
  Program program = point_to_point(64);
  commands_of(program, "dma").pop_back();
  program.trackers.push_back({"t", make_region({1}, {0}, {64}), 1, {0}, 1});
  Machine machine = test_machine(2);
  machine.features.tracker = TrackerLimits{4, {16}};
  EXPECT_TRUE(errors_on(machine, program).empty());
  machine.features.tracker = TrackerLimits{4, {15}};  // 64 / 15 = 4 and a bit
  expect_error(machine, program, "tracker t (out[0+64] of rank 1) needs 5 entries of 15 bytes; a GPU has 4");
  machine.features.tracker.reset();
  expect_error(machine, program, "needs memory that counts updates (tracker), which test does not have");
}

TEST(VerifyMachine, BlocksGoOverLinksAndAddWhereMemoryDoes) {
  const Program program = testing::direct_sum_of_products({3, 1, 1});
  Machine machine = test_machine(3);
  EXPECT_TRUE(errors_on(machine, program).empty());
  machine.linked[1][0] = false;
  expect_error(machine, program,
               "rank 1 has no link to c0, where block 1 (rows 0 to 1, columns 0 to 3) goes, of rank 0");
  machine = test_machine(3);
  machine.features.near_memory_compute = false;
  expect_error(machine, program, "needs memory that adds (near_memory_compute), which test does not have");
}

TEST(VerifyMachine, TrackersReachTheirSignal) {
  Program program = point_to_point(64);
  commands_of(program, "dma").pop_back();
  program.trackers.push_back({"t", make_region({1}, {0}, {64}), 1, {0}, 1});
  program.signals[0].home = RankId{0};
  Machine machine = test_machine(2);
  EXPECT_TRUE(errors_on(machine, program).empty());
  machine.linked[1][0] = false;
  expect_error(machine, program, "rank 1 has no link to done of rank 0");
}

}  // namespace machine_test
}  // namespace cortado::verifier
