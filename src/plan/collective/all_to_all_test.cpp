#include <set>

#include "plan/collective/testing.hpp"

namespace cortado::plan {
namespace all_to_all_test {

CollectiveRequest all_to_all(const std::string& variant, Bytes bytes = 8_KiB) {
  return {.collective = "all-to-all", .variant = variant, .bytes = bytes, .in_place = variant == "swap"};
}

TEST(AllToAll, CountsOfEightGpusAreThePublishedOnes) {
  const Machine machine = machine_for_test("mi300x-8");
  struct Expected {
    const char* variant;
    std::uint64_t commands, signals, doorbells;
  };
  // pcpy: 8 ranks x 7 peers. swap: 28 unordered pairs. b2b: the copies of pcpy, one queue per rank.
  for (const Expected& e : {Expected{"pcpy", 56, 56, 56}, {"swap", 28, 28, 28}, {"b2b", 56, 8, 8}}) {
    for (const bool prelaunch : {false, true}) {
      CollectiveRequest request = all_to_all(e.variant);
      request.prelaunch = prelaunch;
      const ProgramCounts counts = count(plan_for_test(request, machine));
      EXPECT_EQ(counts.commands, e.commands) << e.variant;
      EXPECT_EQ(counts.signals, e.signals) << e.variant;
      EXPECT_EQ(counts.doorbells, e.doorbells) << e.variant;
    }
  }
}

TEST(AllToAll, PcpyVisitsPeersInAscendingOrder) {
  const Program program = plan_for_test(all_to_all("pcpy"), machine_for_test("mi300x-8"));
  std::vector<std::uint32_t> peers;
  for (const auto& [queue, copy] : commands_on<Copy>(program, QueueKind::dma)) {
    if (queue->rank != RankId{3} || rank_of(program, copy.dst) == 3) continue;
    peers.push_back(rank_of(program, copy.dst));
    EXPECT_EQ(copy.src.offset, 1_KiB * peers.back());  // block j of the sender ...
    EXPECT_EQ(copy.dst.offset, 3_KiB);                 // ... becomes block 3 of the receiver
  }
  EXPECT_EQ(peers, (std::vector<std::uint32_t>{0, 1, 2, 4, 5, 6, 7}));
}

TEST(AllToAll, TheOwnBlockCanBeLeftToTheCaller) {
  CollectiveRequest request = all_to_all("pcpy");
  request.own_block = false;
  const Program program = plan_for_test(request, machine_for_test("mi300x-8"));
  EXPECT_EQ(commands_on<Copy>(program, QueueKind::dma).size(), 56U);  // 64 with the own blocks
  EXPECT_EQ(program.contract.clauses.size(), 56U);
  request.collective = "all-gather";
  const auto refused = plan_collective(request, machine_for_test("mi300x-8"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "plan.own_block");
}

TEST(AllToAll, SwapsAreHandedOutFromRankZeroUpward) {
  const Program program = plan_for_test(all_to_all("swap"), machine_for_test("mi300x-8"));
  std::vector<std::uint32_t> owned(8, 0);
  std::vector<std::uint32_t> partners_of_5;
  for (const auto& [queue, swap] : commands_on<Swap>(program, QueueKind::dma)) {
    EXPECT_EQ(rank_of(program, swap.a), queue->rank->value);
    EXPECT_EQ(queue->engine,
              machine_for_test("mi300x-8").engine_towards(*queue->rank, RankId{rank_of(program, swap.b)}));
    ++owned[queue->rank->value];
    if (queue->rank == RankId{5}) partners_of_5.push_back(rank_of(program, swap.b));
  }
  // Four each for ranks 0 to 3 (i+1 ... i+4); 28 - 16 = 12 remain for the other four.
  EXPECT_EQ(owned, (std::vector<std::uint32_t>{4, 4, 4, 4, 3, 3, 3, 3}));
  EXPECT_EQ(partners_of_5, (std::vector<std::uint32_t>{0, 6, 7}));
}

TEST(AllToAll, SwapMeetsEveryPairOnce) {
  const Machine machine = machine_for_test("virtual-64");
  for (std::uint32_t ranks = 2; ranks <= 64; ++ranks) {
    CollectiveRequest request = all_to_all("swap", Bytes{64} * ranks);
    request.ranks = ranks;
    const Program program = plan_for_test(request, machine);
    std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
    for (const auto& [queue, swap] : commands_on<Swap>(program, QueueKind::dma)) {
      pairs.insert(std::minmax({rank_of(program, swap.a), rank_of(program, swap.b)}));
    }
    EXPECT_EQ(pairs.size(), ranks * (ranks - 1) / 2);
    EXPECT_EQ(count(program).commands, ranks * (ranks - 1) / 2);
  }
}

TEST(AllToAll, SwapSplitsAtAlignedSizes) {
  Machine machine = machine_for_test("mi300x-8");
  machine.dma.max_swap_bytes = Bytes{200};  // usable: 192
  CollectiveRequest request = all_to_all("swap", Bytes{2 * 512});
  request.ranks = 2;
  const auto swaps = commands_on<Swap>(plan_for_test(request, machine), QueueKind::dma);
  ASSERT_EQ(swaps.size(), 3u);  // 512 = 192 + 192 + 128
  EXPECT_EQ(swaps[1].second.a.offset.value % 64, 0u);
  EXPECT_EQ(swaps[2].second.a.width, Bytes{128});
}

TEST(AllToAll, SwapRefusesBlocksItCannotExchange) {
  const Machine machine = machine_for_test("mi300x-8");
  const Diagnostic uneven = refusal(all_to_all("swap", Bytes{1000}), machine);
  EXPECT_EQ(uneven.code, "plan.size");
  EXPECT_NE(uneven.hint.find("use 512B or 1KiB"), std::string::npos) << uneven.hint;  // multiples of 8 x 64 around 1000
  const Diagnostic tiny = refusal(all_to_all("swap", Bytes{7}), machine);
  EXPECT_EQ(tiny.hint.find("use 512B,"), 0u) << tiny.hint;
}

TEST(AllToAll, UnevenBlocksGiveLargerOutputsToTheFirstRanks) {
  CollectiveRequest request = all_to_all("pcpy", Bytes{10});
  request.ranks = 4;  // blocks of 3, 3, 2, 2 bytes: ranks 0 and 1 receive 4 x 3, the others 4 x 2
  const Program program = plan_for_test(request, machine_for_test("mi300x-8"));
  std::vector<std::uint64_t> received;
  for (const Buffer& buffer : program.buffers) {
    if (buffer.role == BufferRole::output) received.push_back(buffer.size.value);
  }
  EXPECT_EQ(received, (std::vector<std::uint64_t>{12, 12, 8, 8}));
}

TEST(AllToAll, InPlaceOnlyBySwapping) {
  const Machine machine = machine_for_test("mi300x-8");
  CollectiveRequest request = all_to_all("pcpy");
  request.in_place = true;
  const Diagnostic refused = refusal(request, machine);
  EXPECT_EQ(refused.code, "plan.in_place");
  EXPECT_NE(refused.hint.find("swap"), std::string::npos);
  request = all_to_all("swap");
  request.in_place = false;
  EXPECT_EQ(refusal(request, machine).code, "plan.in_place");
}

}  // namespace all_to_all_test
}  // namespace cortado::plan
