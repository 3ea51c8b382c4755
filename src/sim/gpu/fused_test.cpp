// A product fused with a ring reduce-scatter.
#include <algorithm>

#include <gtest/gtest.h>

#include "cortado/sim/simulate.hpp"

#include "sim/gpu/fused_testing.hpp"

namespace cortado::sim {
namespace {

Simulated run(const FusedRing& ring, const Machine& machine, const SimulateOptions& options = {}) {
  auto result = simulate(unproved(fused_ring(ring, machine), machine), options);
  EXPECT_TRUE(result) << to_string(result.error());
  return *std::move(result);
}

// N ranks, N chunks each. A rank stores N chunks, one of them on its neighbour, and its engine passes N - 2 on: reads
// them here, adds them there. Every update is one write. So the memories of a rank see N + (N - 2) = 2N - 2 chunks
// written and N - 2 read, beside the operands.
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

}  // namespace
}  // namespace cortado::sim
