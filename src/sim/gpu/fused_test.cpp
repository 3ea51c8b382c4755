// A GEMM fused with a ring reduce-scatter.
#include <algorithm>

#include <gtest/gtest.h>

#include "plan/t3.hpp"
#include "sim/gpu/fused_testing.hpp"
#include "sim/gpu/simulate.hpp"

namespace cortado::sim {
namespace fused_test {

Simulated run(const FusedRing& ring, const Machine& machine, const SimulateOptions& options = {}) {
  auto result = simulate(unproved(fused_ring(ring, machine), machine), options);
  EXPECT_TRUE(result) << to_string(result.error());
  return *std::move(result);
}

// N ranks, N chunks each. A rank stores N chunks, one of them on its neighbour, and its engine passes N - 2 on: reads
// them here, adds them there. Every update is one write. So the memories of a rank see N + (N - 2) = 2N - 2 chunks
// written and N - 2 read, in addition to the operands.
TEST(FusedRingTraffic, IsExactlyTheAlgebra) {
  for (const char* name : {"t3-ring-8", "t3-ring-16"}) {
    const Machine machine = load_machine(name).value();
    const std::uint32_t ranks = machine.gpus;
    const FusedRing ring{.gemm = {.m = 4096, .n = 1024, .k = 512, .dtype = DType::f16}, .pieces = 1};
    const double chunk = 2.0 * 4096 * 1024 / ranks;
    const DramTraffic traffic = run(ring, machine).traffic;
    EXPECT_DOUBLE_EQ(traffic.producer_writes, ranks * ranks * chunk);
    EXPECT_DOUBLE_EQ(traffic.collective_reads, ranks * (ranks - 2) * chunk);
    EXPECT_DOUBLE_EQ(traffic.collective_writes, ranks * (ranks - 2) * chunk);
    EXPECT_DOUBLE_EQ(traffic.writes(), ranks * (2 * ranks - 2) * chunk);
    // A and B, 5 MiB, fit the cache: read once.
    EXPECT_NEAR(traffic.producer_reads, ranks * (4096 + 1024) * 512 * 2.0, ranks * 4096.0);
  }
}

// Every GPU stores each chunk directly to its destination: C once, and nothing else moves. No stages on this
// machine.
TEST(FusedDirectTraffic, IsTheProductsAlone) {
  const Machine machine = load_machine("mi300x-8+t3").value();
  const GemmShape shape{.m = 8192, .n = 4096, .k = 512, .dtype = DType::bf16};
  T3Plan plan = plan_t3({.gemm = shape, .algorithm = "direct"}, machine).value();
  const Simulated result = simulate(unproved(std::move(plan.program), machine)).value();
  EXPECT_DOUBLE_EQ(result.traffic.producer_writes, 8 * 8192.0 * 4096 * 2);
  EXPECT_EQ(result.traffic.collective_reads + result.traffic.collective_writes, 0);
  EXPECT_GE(result.traffic.producer_reads, 8 * static_cast<double>(read_bytes(shape).value) * (1 - 1e-9));
}

// 8 x 10 tiles of 256 x 128 are one stage on 80 units. A and B, (2048 + 1280) x 1024 x 2 bytes, come at 1000 GB/s
// before a tile multiplies: 2 x 256 x 128 x 1024 at 1024 x 1.4 GHz x efficiency, 1 + 12/256 + 12/128 times as long as
// in an endless tile, and 2000 ns in addition. C, 2048 x 1280 x 2 bytes, is stored after it.
TEST(StagedProduct, ReadsThenMultipliesThenStores) {
  Machine machine = load_machine("t3-ring-8").value();
  machine.timing->compute->stages->read_share = 1;
  machine.timing->compute->operand_cost = 12;
  ProgramBuilder b("stage", machine.name, 1);
  const auto matrix = [&](const char* name, std::uint64_t rows, std::uint64_t columns) {
    const Bytes row{columns * 2};
    return Region{b.buffer(name, RankId{0}, row * rows, BufferRole::scratch), {}, row, rows, row};
  };
  const GemmShape shape{.m = 2048, .n = 1280, .k = 1024, .dtype = DType::f16};
  const Region a = matrix("a", shape.m, shape.k);
  const Region operand = matrix("b", shape.k, shape.n);
  const QueueId queue = b.compute_queue("gemm", RankId{0});
  b.add(queue, gemm_command(shape, {256, 128, 1}, a, operand, matrix("c", shape.m, shape.n)));
  b.add(b.host_queue("host"), Submit{queue});
  const Simulated result = simulate(unproved(std::move(b).finish(), machine)).value();
  const double flops = 1024 * 1.4 * machine.timing->compute->f16.efficiency;  // per ns
  const double multiply = 2.0 * 256 * 128 * 1024 / flops * (1 + 12.0 / 256 + 12.0 / 128) + 2000;
  const double expected = 929 + 3000 + (2048 + 1280) * 1024 * 2 / 1000.0 + multiply + 2048 * 1280 * 2 / 1000.0;
  EXPECT_NEAR(static_cast<double>(result.queue_ends[queue.value].value), expected, 2);
  EXPECT_DOUBLE_EQ(result.traffic.producer_reads, (2048 + 1280) * 1024 * 2);
  EXPECT_DOUBLE_EQ(result.traffic.producer_writes, 2048 * 1280 * 2);
  EXPECT_EQ(result.traffic.collective_reads + result.traffic.collective_writes, 0);
}

FusedRing large_chunks() {
  return {.gemm = {.m = 8192, .n = 4096, .k = 128, .dtype = DType::f16}, .pieces = 4};
}

// A piece of 256 x 4096 x 2 bytes takes 2 MiB / 64 KiB = 32 entries, a chunk 128. With 160, one chunk and the first
// piece that is not complete: the GEMM, far faster than the ring, waits. With plenty of entries it does not.
TEST(TrackerEntries, MakeWritersWait) {
  Machine machine = load_machine("t3-ring-8").value();
  machine.features.tracker->entries = 1 << 20;
  const Simulated ample = run(large_chunks(), machine);
  EXPECT_EQ(ample.tracker_wait_seconds, 0);
  EXPECT_GT(ample.tracker_entries_peak, 160U);
  EXPECT_LE(ample.tracker_entries_peak, 7 * 4 * 32U);
  machine.features.tracker->entries = 160;
  const Simulated scarce = run(large_chunks(), machine);
  EXPECT_GT(scarce.tracker_wait_seconds, 0);
  EXPECT_EQ(scarce.tracker_entries_peak, 160U);
  EXPECT_GE(scarce.timeline.iteration_times.front(), ample.timeline.iteration_times.front());
  EXPECT_EQ(scarce.traffic.writes(), ample.traffic.writes());
}

// 31 entries are too few for a piece. 96 are enough for three, but every rank must store a chunk of four pieces on its
// neighbour before it makes what completes the first of those that it has got itself.
TEST(TrackerEntries, ThatCanNeverBeEnoughAreAStall) {
  Machine machine = load_machine("t3-ring-8").value();
  for (const std::uint32_t entries : {31U, 96U}) {
    machine.features.tracker->entries = entries;
    const auto result = simulate(unproved(fused_ring(large_chunks(), machine), machine));
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, "sim.stall");
    EXPECT_NE(result.error().message.find("waits for entries of tracker chunk"), std::string::npos)
        << result.error().message;
  }
}

TEST(FusedRing, RepeatsToTheBit) {
  const Machine machine = load_machine("t3-ring-8").value();
  const SimulateOptions options{.iterations = 2, .arbitration = ArbitrationPolicy::mca};
  const Simulated one = run(large_chunks(), machine, options);
  const Simulated other = run(large_chunks(), machine, options);
  EXPECT_EQ(one.timeline.iteration_times, other.timeline.iteration_times);
  EXPECT_EQ(one.queue_ends, other.queue_ends);
  EXPECT_EQ(one.events, other.events);
  EXPECT_EQ(one.traffic.total(), other.traffic.total());
}

// The ring cannot be faster than its links: N - 1 chunks leave every rank at 150 GB/s.
TEST(FusedRing, IsNoFasterThanItsLinks) {
  const Machine machine = load_machine("t3-ring-8").value();
  const double ns = 7 * (8192.0 * 4096 * 2 / 8) / 150;
  EXPECT_GE(static_cast<double>(run(large_chunks(), machine).timeline.iteration_times.front().value), ns);
}

// Who favours GEMMs lets them end no later than who serves all in turn.
TEST(FusedRing, ArbitrationHelpsTheProduct) {
  const Machine machine = load_machine("t3-ring-8").value();
  const FusedRing ring{.gemm = {.m = 8192, .n = 4096, .k = 2048, .dtype = DType::f16}, .pieces = 4};
  const auto product_ends = [&](ArbitrationPolicy policy) {
    const Program program = fused_ring(ring, machine);
    const Simulated result = run(ring, machine, {.arbitration = policy});
    Nanoseconds last{};
    for (std::size_t i = 0; i < program.queues.size(); ++i) {
      if (program.queues[i].kind == QueueKind::compute) last = std::max(last, result.queue_ends[i]);
    }
    return last;
  };
  EXPECT_LT(product_ends(ArbitrationPolicy::compute_first), product_ends(ArbitrationPolicy::round_robin));
  EXPECT_LE(product_ends(ArbitrationPolicy::mca), product_ends(ArbitrationPolicy::round_robin));
}

TEST(Simulate, RefusesAPolicyForAMachineThatDoesNotArbitrate) {
  Machine machine = load_machine("t3-ring-8").value();
  machine.timing->memory.arbitration.reset();
  const auto result =
      simulate(unproved(fused_ring(large_chunks(), machine), machine), {.arbitration = ArbitrationPolicy::mca});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, "sim.arbitration");
}

}  // namespace fused_test
}  // namespace cortado::sim
