#include "plan/collective/reduction.hpp"

#include <map>
#include <set>

#include "plan/collective/testing.hpp"

namespace cortado::plan {
namespace reduction_test {

TEST(ReduceScatter, KernelAddsAllBlocksOfItsOwner) {
  CollectiveRequest request{.collective = "reduce-scatter", .bytes = 8_KiB};
  const Program program = plan_for_test(request, machine_for_test("mi300x-8"));
  const ProgramCounts counts = count(program);
  EXPECT_EQ(counts.commands, 56u);
  EXPECT_EQ(counts.signals, 56u);
  EXPECT_EQ(counts.doorbells, 56u);
  EXPECT_EQ(counts.kernels, 8u);
  for (const auto& [queue, kernel] : commands_on<Kernel>(program, QueueKind::compute)) {
    EXPECT_EQ(kernel.sources.size(), 8u);
    EXPECT_EQ(rank_of(program, kernel.dst), queue->rank->value);
    EXPECT_EQ(kernel.dst.bytes(), 1_KiB);
  }
}

TEST(AllReduce, KernelFormPushesEverySumToAllOthers) {
  CollectiveRequest request{.collective = "all-reduce", .bytes = 8_KiB, .in_place = true};
  const ProgramCounts counts = count(plan_for_test(request, machine_for_test("mi300x-8")));
  EXPECT_EQ(counts.commands, 56u + 56u);  // to the owners, from the owners
  EXPECT_EQ(counts.signals, 56u + 56u);
  EXPECT_EQ(counts.doorbells, 56u);  // both phases in the same queues
}

// With blocks below 128 KiB there is one piece per block: a chain of N-1 adds for each of N owners.
TEST(ReduceScatter, AddFormChainsWholeSmallBlocks) {
  CollectiveRequest request{.collective = "reduce-scatter", .variant = "add", .bytes = 8_KiB, .ranks = 8};
  const Program program = plan_for_test(request, machine_for_test("virtual-64-nmc"));
  const ProgramCounts counts = count(program);
  EXPECT_EQ(counts.commands, 56u);
  EXPECT_EQ(counts.local_copies, 8u);  // the sums start as the owners' own blocks
  EXPECT_EQ(counts.kernels, 0u);
  request.in_place = true;
  EXPECT_EQ(count(plan_for_test(request, machine_for_test("virtual-64-nmc"))).local_copies, 0u);
}

// Blocks of 512 KiB on 8 ranks: C = min(8 units of 64 KiB, 7 peers, 16) = 7 pieces, each visited once by each of 7
// peers.
TEST(ReduceScatter, AddFormKeepsAllLinksBusyForLargeBlocks) {
  const CollectiveRequest request{
      .collective = "reduce-scatter", .variant = "add", .bytes = 4_MiB, .ranks = 8, .in_place = true};
  const Program program = plan_for_test(request, machine_for_test("virtual-64-nmc"));
  EXPECT_EQ(count(program).commands, 8u * 7u * 7u);
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::set<std::uint32_t>> adders;  // (owner, offset) -> ranks
  std::set<std::pair<std::uint32_t, std::uint64_t>> first;  // the first piece that each rank adds to, by owner
  for (const Queue& queue : program.queues) {
    bool at_head = true;
    for (const Command& command : queue.commands) {
      const Copy* copy = std::get_if<Copy>(&command);
      if (copy == nullptr) continue;
      EXPECT_EQ(copy->op, CopyOp::add);
      const std::pair piece{rank_of(program, copy->dst), copy->dst.offset.value};
      EXPECT_TRUE(adders[piece].insert(queue.rank->value).second) << "a rank adds twice";
      if (!std::exchange(at_head, false)) continue;
      EXPECT_TRUE(first.insert(piece).second) << "two ranks begin with one piece";
    }
  }
  EXPECT_EQ(adders.size(), 8u * 7u);
  for (const auto& [piece, ranks] : adders) EXPECT_EQ(ranks.size(), 7u);
}

TEST(ReduceScatter, AddFormNeedsMemoryThatAdds) {
  const CollectiveRequest request{.collective = "reduce-scatter", .variant = "add", .bytes = 8_KiB};
  EXPECT_EQ(refusal(request, machine_for_test("mi300x-8")).code, "plan.feature");
}

TEST(ReduceScatter, BlocksAreWholeElements) {
  CollectiveRequest request{.collective = "reduce-scatter", .bytes = Bytes{20}, .ranks = 3};
  const Program program = plan_for_test(request, machine_for_test("mi300x-8"));  // 5 floats = 2 + 2 + 1
  std::vector<std::uint64_t> sums;
  for (const auto& [queue, kernel] : commands_on<Kernel>(program, QueueKind::compute)) {
    sums.push_back(kernel.dst.bytes().value);
  }
  EXPECT_EQ(sums, (std::vector<std::uint64_t>{8, 8, 4}));
  request.bytes = Bytes{21};
  const Diagnostic refused = refusal(request, machine_for_test("mi300x-8"));
  EXPECT_EQ(refused.code, "plan.size");
  EXPECT_EQ(refused.hint, "use 20B or 24B");
}

}  // namespace reduction_test
}  // namespace cortado::plan
