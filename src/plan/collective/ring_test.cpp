#include "plan/collective/ring.hpp"

#include <gmock/gmock.h>

#include "plan/collective/testing.hpp"

namespace cortado::plan {
namespace ring_test {

/// Bytes that the memory of rank 0 reads and writes in one iteration.
struct Traffic {
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
};

Traffic traffic_of_rank_0(const Program& program) {
  Traffic traffic;
  for (const Queue& queue : program.queues) {
    for (const Command& command : queue.commands) {
      for (const Access& access : accesses(command)) {
        if (rank_of(program, access.region) != 0) continue;
        (access.kind == AccessKind::read ? traffic.reads : traffic.writes) += access.region.bytes().value;
      }
    }
  }
  return traffic;
}

constexpr std::uint64_t kChunk = 1024;

CollectiveRequest around(Collective collective, const std::string& variant, std::uint32_t ranks) {
  return {.collective = collective,
          .variant = variant,
          .bytes = Bytes{kChunk * ranks},
          .ranks = ranks,
          .in_place = default_in_place(collective, variant)};
}

class RingOf : public testing::TestWithParam<std::uint32_t> {
 protected:
  std::uint32_t ranks() const { return GetParam(); }
  Program plan(Collective collective, const std::string& variant) const {
    return plan_for_test(around(collective, variant, ranks()), machine_for_test("virtual-64-nmc"));
  }
};

// Of N chunks, a rank reads its first one to send it; it reads N-2 incoming ones, and its own with each; and two at the
// end: 1 + 2(N-2) + 2 = 2N-1. N-1 arrive, and the sum is written: N.
TEST_P(RingOf, ReduceScatterReads2NMinus1ChunksAndWritesN) {
  const Traffic traffic = traffic_of_rank_0(plan("reduce-scatter", "cores-ring"));
  EXPECT_EQ(traffic.reads, (2 * ranks() - 1) * kChunk);
  EXPECT_EQ(traffic.writes, ranks() * kChunk);
}

// N-1 chunks are sent and N-1 come in.
TEST_P(RingOf, AllGatherReadsAndWritesNMinus1Chunks) {
  for (const char* variant : {"ring", "cores-ring"}) {
    const Traffic traffic = traffic_of_rank_0(plan("all-gather", variant));
    EXPECT_EQ(traffic.reads, (ranks() - 1) * kChunk) << variant;
    EXPECT_EQ(traffic.writes, (ranks() - 1) * kChunk) << variant;
  }
}

TEST_P(RingOf, AllReduceIsBoth) {
  const Traffic traffic = traffic_of_rank_0(plan("all-reduce", "cores-ring"));
  EXPECT_EQ(traffic.reads, (3 * ranks() - 2) * kChunk);
  EXPECT_EQ(traffic.writes, (2 * ranks() - 1) * kChunk);
}

// N-1 steps of one copy per rank, each adding: no scratch memory, no kernel, no reduction at the end.
TEST_P(RingOf, AddingMemoryNeedsNothingButTheCopies) {
  const Program program = plan("reduce-scatter", "add-ring");
  const auto copies = commands_on<Copy>(program, QueueKind::dma);
  EXPECT_EQ(copies.size(), ranks() * (ranks() - 1));
  for (const auto& [queue, copy] : copies) EXPECT_EQ(copy.op, CopyOp::add);
  EXPECT_EQ(count(program).kernels, 0U);
  EXPECT_EQ(program.buffers.size(), ranks());
}

// Block c ends at rank c: with 4 ranks rank 0 sends 3, 2, 1.
TEST_P(RingOf, EveryByteGoesToTheNextRank) {
  for (const Collective collective :
       {Collective("all-gather"), Collective("reduce-scatter"), Collective("all-reduce")}) {
    const Program program = plan(collective, "cores-ring");
    for (const auto& [queue, copy] : commands_on<Copy>(program, QueueKind::compute)) {
      EXPECT_EQ(rank_of(program, copy.src), queue->rank->value);
      EXPECT_EQ(rank_of(program, copy.dst), (queue->rank->value + 1) % ranks());
    }
    std::vector<std::uint32_t> sums_at_home(ranks());
    for (const auto& [queue, kernel] : commands_on<Kernel>(program, QueueKind::compute)) {
      ASSERT_EQ(kernel.sources.size(), 2U);
      for (const Region& source : kernel.sources) EXPECT_EQ(rank_of(program, source), queue->rank->value);
      const std::uint32_t to = rank_of(program, kernel.dst);
      if (to == queue->rank->value) {
        ++sums_at_home[to];
      } else {
        EXPECT_EQ(to, (queue->rank->value + 1) % ranks());
      }
    }
    if (collective != "all-gather") {
      EXPECT_THAT(sums_at_home, testing::Each(1U));
    }
  }
}

TEST_P(RingOf, OneKernelARankOfOnePart) {
  for (const Collective collective :
       {Collective("all-gather"), Collective("reduce-scatter"), Collective("all-reduce")}) {
    const Program program = plan(collective, "cores-ring");
    EXPECT_EQ(count(program).kernels, ranks());
    EXPECT_EQ(count(program).doorbells, 0U);
    EXPECT_EQ(std::count_if(program.queues.begin(), program.queues.end(),
                            [](const Queue& queue) { return queue.kind == QueueKind::compute; }),
              ranks());
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, RingOf, testing::Values(2U, 3U, 4U, 8U, 16U));

TEST(Ring, BlocksTravelInTheOrderThatEndsAtTheirOwners) {
  const Program program = plan_for_test(around("reduce-scatter", "add-ring", 4), machine_for_test("virtual-64-nmc"));
  std::vector<std::uint64_t> blocks;
  for (const auto& [queue, copy] : commands_on<Copy>(program, QueueKind::dma)) {
    if (queue->rank == RankId{0}) blocks.push_back(copy.src.offset.value / kChunk);
  }
  EXPECT_THAT(blocks, testing::ElementsAre(3, 2, 1));
}

// A signal for each copy, the last of which also notifies the host.
TEST(Ring, EnginesHaveOneQueueARank) {
  const ProgramCounts gather =
      count(plan_for_test(around("all-gather", "ring", 8), machine_for_test("virtual-64-nmc")));
  EXPECT_EQ(gather.commands, 56U);
  EXPECT_EQ(gather.signals, 56U);
  EXPECT_EQ(gather.doorbells, 8U);
  const ProgramCounts reduce =
      count(plan_for_test(around("all-reduce", "add-ring", 8), machine_for_test("virtual-64-nmc")));
  EXPECT_EQ(reduce.commands, 112U);
  EXPECT_EQ(reduce.signals, 112U);
  EXPECT_EQ(reduce.doorbells, 8U);
}

TEST(Ring, ComputeUnitsMayBeFewerThanRanks) {
  const Machine machine = machine_for_test("t3-ring-16");
  CollectiveRequest request = around("all-reduce", "cores-ring", 16);
  request.compute_units = 8;
  for (const Queue& queue : plan_for_test(request, machine).queues) {
    if (queue.kind == QueueKind::compute) {
      EXPECT_EQ(queue.compute_units, 8U);
    }
  }
  request.compute_units = 81;
  const Diagnostic refused = refusal(request, machine);
  EXPECT_EQ(refused.code, "plan.compute_units");
  EXPECT_EQ(refused.hint, "use 1 to 80, or leave it out");
}

TEST(Ring, AMachineWithoutARingAmongTheRanksIsRefused) {
  const Machine machine = machine_for_test("t3-ring-16");
  for (const char* variant : {"cores-ring", "add-ring"}) {
    const Diagnostic refused = refusal(around("reduce-scatter", variant, 8), machine);
    EXPECT_EQ(refused.code, "plan.link");
    EXPECT_THAT(refused.message, testing::HasSubstr("the first 8 GPUs of t3-ring-16 do not form one"));
    EXPECT_FALSE(refused.hint.empty());
  }
  plan_for_test(around("reduce-scatter", "add-ring", 16), machine);
  plan_for_test(around("reduce-scatter", "add-ring", 2), machine);  // two neighbours are a ring
}

// GPUs 0 and 3 of MI250X have no link; their order 0, 1, 2 is not a ring either.
TEST(Ring, FindsARingInAPartialMesh) {
  const Machine machine = machine_for_test("mi250x-8");
  const std::vector<RankId> order = ring_order(8, machine);
  ASSERT_EQ(order.size(), 8U);
  for (std::size_t i = 0; i < order.size(); ++i) {
    EXPECT_TRUE(machine.linked[order[i].value][order[(i + 1) % order.size()].value]) << i;
  }
  for (const Collective collective :
       {Collective("all-gather"), Collective("reduce-scatter"), Collective("all-reduce")}) {
    plan_for_test(around(collective, "cores-ring", 8), machine);
  }
  EXPECT_TRUE(ring_order(3, machine).empty());
}

// If a pair has no link, a GPU that has links to both makes the copy.
TEST(PartialMesh, CopiesGoThroughAThirdGpu) {
  const Machine machine = machine_for_test("mi250x-8");
  for (const Collective collective : {Collective("all-gather"), Collective("all-to-all")}) {
    const Program program =
        plan_for_test({.collective = collective, .variant = "pcpy", .bytes = 1_MiB, .ranks = 8}, machine);
    std::size_t through = 0;
    for (const Queue& queue : program.queues) {
      for (const Command& command : queue.commands) {
        const auto* copy = std::get_if<Copy>(&command);
        if (copy == nullptr) continue;
        through += program.buffer(copy->src.buffer).rank != *queue.rank ? 1U : 0U;
      }
    }
    EXPECT_EQ(through, 8U * 7 - 8 * 3) << collective.name();  // three links a GPU
  }
}

/// Bytes that queues of one GPU copy between two others.
std::uint64_t bytes_through_others(const Program& program) {
  std::uint64_t bytes = 0;
  for (const auto& [queue, copy] : commands_on<Copy>(program, QueueKind::compute)) {
    if (program.buffer(copy.src.buffer).rank == *queue->rank) continue;
    EXPECT_NE(program.buffer(copy.dst.buffer).rank, *queue->rank);
    bytes += copy.src.bytes().value;
  }
  return bytes;
}

// 8 x 4 of the 56 pairs have no link. ll stores every byte twice.
TEST(PartialMesh, KernelsGoThroughAThirdGpu) {
  const Machine machine = machine_for_test("mi250x-8");
  for (const auto& [collective, times] : {std::pair(Collective("all-gather"), 1U),
                                          {Collective("all-to-all"), 1U},
                                          {Collective("reduce-scatter"), 1U},
                                          {Collective("all-reduce"), 2U}}) {
    for (const auto& [variant, stores] : {std::pair("cores-ll", 2U), {"cores-simple", 1U}}) {
      const Program program = plan_for_test(around(collective, variant, 8), machine);
      EXPECT_EQ(bytes_through_others(program), 32 * kChunk * times * stores) << collective.name() << variant;
      for (std::uint32_t rank = 0; rank < 8; ++rank) {
        std::uint32_t units = 0;
        for (const Queue& queue : program.queues) {
          const bool sends =
              queue.kind == QueueKind::compute && queue.rank == RankId{rank} && !queue.name.ends_with("own");
          if (sends) units += *queue.compute_units;
        }
        EXPECT_LE(units, machine.timing->cores.collective_units * (collective == "all-to-all" ? 2 : 1));
      }
    }
  }
}

TEST(PartialMesh, SendsOfTheLibraryGoThroughAThirdGpu) {
  Machine machine = machine_for_test("mi250x-8");
  EXPECT_EQ(refusal(around("all-to-all", "library", 8), machine).code, "plan.library");
  machine.timing->library = machine_for_test("mi300x-8").timing->library;
  for (const char* variant : {"sends-ll", "sends-simple"}) {
    const Program program = plan_for_test(around("all-to-all", variant, 8), machine);
    EXPECT_EQ(bytes_through_others(program), 32 * kChunk) << variant;
  }
  // Of five ranks, 1 and 4 have no neighbour in common.
  EXPECT_EQ(refusal(around("all-to-all", "cores-ll", 5), machine).code, "plan.link");
}

TEST(Ring, AddingNeedsMemoryThatAddsAndGrowsInPlace) {
  EXPECT_EQ(refusal(around("reduce-scatter", "add-ring", 8), machine_for_test("mi300x-8")).code, "plan.feature");
  CollectiveRequest request = around("all-reduce", "add-ring", 8);
  request.in_place = false;
  EXPECT_EQ(refusal(request, machine_for_test("t3-ring-8")).code, "plan.in_place");
}

}  // namespace ring_test
}  // namespace cortado::plan
