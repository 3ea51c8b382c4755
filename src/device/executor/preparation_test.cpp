// What prepare() rejects and what it submits to compute queues.
#include "device/executor/preparation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/executor/testing.hpp"
#include "device/executor/testing/recording_driver.hpp"
#include "ir/visit.hpp"

namespace cortado::device {
namespace preparation_test {

using namespace testing;  // NOLINT(google-build-using-namespace): the helpers of these tests
using ::testing::HasSubstr;

/// Two GPUs with only engine 14; 12 is in the table but not in silicon.
Topology two_gpus() {
  Topology topology;
  topology.node = "test node";
  topology.gpus.assign(2, {"GPU", {{EngineId{14}}, {EngineId{12}, EngineClass::peer, false}}, 8});
  topology.compute = true;
  return topology;
}

Diagnostic refusal(const Program& program, const Topology& topology, const Machine& machine = machine_with_ring()) {
  RecordingDriver driver(4096);
  driver.node = topology;
  const auto prepared = PreparedProgram::prepare(verified(program, machine), driver);
  if (!prepared) return prepared.error();
  ADD_FAILURE() << "not refused";
  return {};
}

TEST(Preparation, RefusesMoreRanksThanGpus) {
  const Diagnostic error = refusal(copy_chain(), two_gpus());
  EXPECT_EQ(error.code, "device.ranks");
  EXPECT_EQ(error.message, "the program has 3 ranks, but the test node has 2 GPUs");
}

TEST(Preparation, RefusesEnginesThatTheNodeDoesNotHave) {
  Program program = window_copy();
  program.queues[1].engine = EngineId{10};
  const Diagnostic unknown = refusal(program, two_gpus());
  EXPECT_EQ(unknown.code, "device.engine");
  EXPECT_EQ(unknown.place.queue, "dma");
  EXPECT_THAT(unknown.message, HasSubstr("has no DMA engine 10"));
  program.queues[1].engine = EngineId{12};
  EXPECT_THAT(refusal(program, two_gpus()).message, HasSubstr("has no DMA engine 12 in silicon"));
}

TEST(Preparation, RefusesComputeQueuesWhereThereIsNoCompute) {
  Topology topology = two_gpus();
  topology.compute = false;
  const Diagnostic error = refusal(summed_inputs(DType::f32), topology);
  EXPECT_EQ(error.code, "device.compute");
  EXPECT_EQ(error.place.queue, "compute");
}

TEST(Preparation, RefusesAddingCopiesWhereMemoryDoesNotReduce) {
  Machine machine = machine_with_ring();
  machine.features.near_memory_compute = true;
  TestProgram p("add", 2);
  const Region in = all_of(p.input("in", 0, 64_B), 64_B);
  const Region sum = all_of(p.buffer("sum", RankId{1}, 64_B, BufferRole::inout), 64_B);
  const QueueId dma = p.dma("dma", 0, 14);
  p.add(dma, Copy{in, sum, CopyOp::add, DType::i32});
  p.contract({"add", {{sum, {in, sum}, DType::i32}}});
  const Diagnostic error = refusal(std::move(p).close(), two_gpus(), machine);
  EXPECT_EQ(error.code, "device.near_memory_compute");
  EXPECT_EQ(error.place.command, 0U);
}

TEST(Preparation, PassesOnThatThereIsNoMemory) {
  EXPECT_EQ(refusal(window_copy(), two_gpus()).message, "no memory");
}

TEST(ComputeStream, ResolvesRegionsSignalsAndRows) {
  const Program program = gathered_and_scattered_rows();
  AddressMap addresses;
  for (std::uint64_t b = 0; b < program.buffers.size(); ++b) addresses.buffers.push_back(0x10000 * (b + 1));
  addresses.signals = {0x40};
  addresses.slots = {0, 0x8000};
  const ComputeStream stream(program, QueueId{1}, addresses, signal_advances(program), false);
  ASSERT_EQ(stream.operations().size(), 4U);
  const auto& gather = std::get<KernelLaunchOp>(stream.operations()[0]);
  EXPECT_EQ(reinterpret_cast<std::uint64_t>(gather.sources[0].data), 0x10000U);
  EXPECT_EQ(reinterpret_cast<std::uint64_t>(gather.dst.data), 0x20000U);
  EXPECT_EQ(gather.dst.rows, 4U);
  EXPECT_EQ(gather.dst.pitch, 64U);
  EXPECT_EQ(gather.rows, (std::vector<std::uint64_t>{3, 0, 2, 1}));
  const auto& done = std::get<SignalWriteOp>(stream.operations()[3]);
  EXPECT_EQ(reinterpret_cast<std::uint64_t>(done.word), 0x40U);

  const ComputeStream traced(program, QueueId{1}, addresses, signal_advances(program), true);
  ASSERT_EQ(traced.operations().size(), 9U);
  EXPECT_EQ(reinterpret_cast<std::uint64_t>(std::get<TimestampOp>(traced.operations()[8]).slot), 0x8000U + 4 * 32);
}

TEST(ComputeStream, ResolvesGemms) {
  const Program program = gemm_that_releases_a_copy();
  AddressMap addresses;
  for (std::uint64_t b = 0; b < program.buffers.size(); ++b) addresses.buffers.push_back(0x10000 * (b + 1));
  addresses.signals = {0x40, 0x80};
  addresses.slots = {0, 0, 0};
  const ComputeStream stream(program, QueueId{1}, addresses, signal_advances(program), false);
  const auto& gemm = std::get<GemmLaunchOp>(stream.operations()[0]);
  EXPECT_EQ(reinterpret_cast<std::uint64_t>(gemm.b.data), 0x20000U);
  EXPECT_EQ(gemm.n, 32U);
  ASSERT_EQ(gemm.raises.size(), 1U);
  EXPECT_EQ(gemm.raises[0].tiles, 2U);
  EXPECT_EQ(reinterpret_cast<std::uint64_t>(gemm.raises[0].word), 0x80U);
}

}  // namespace preparation_test
}  // namespace cortado::device
