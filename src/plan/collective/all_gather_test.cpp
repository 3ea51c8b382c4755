#include "cortado/program.hpp"

#include "plan/collective/testing.hpp"

namespace cortado::plan {
namespace all_gather_test {

CollectiveRequest all_gather(const std::string& variant, Bytes bytes = 8_KiB) {
  return {.collective = "all-gather", .variant = variant, .bytes = bytes, .in_place = true};
}

TEST(AllGather, CountsOfEightGpusAreThePublishedOnes) {
  const Machine machine = machine_for_test("mi300x-8");
  struct Expected {
    const char* variant;
    std::uint64_t commands, signals, doorbells;
  };
  // pcpy: 8 ranks x 7 peers. bcst: 8 x (1 single + 3 dual). b2b: the copies of pcpy, one queue per rank.
  for (const Expected& e : {Expected{"pcpy", 56, 56, 56}, {"bcst", 32, 32, 32}, {"b2b", 56, 8, 8}}) {
    for (const bool prelaunch : {false, true}) {
      for (const bool in_place : {false, true}) {
        CollectiveRequest request = all_gather(e.variant);
        request.prelaunch = prelaunch;
        request.in_place = in_place;
        const ProgramCounts counts = count(plan_for_test(request, machine));
        EXPECT_EQ(counts.commands, e.commands) << e.variant;
        EXPECT_EQ(counts.signals, e.signals) << e.variant;
        EXPECT_EQ(counts.doorbells, e.doorbells) << e.variant;
        EXPECT_EQ(counts.triggers, prelaunch ? 1u : 0u);
        EXPECT_EQ(counts.local_copies, in_place ? 0u : 8u);  // each rank's own block
      }
    }
  }
}

TEST(AllGather, PcpyVisitsPeersInRingOrderOnTheirEngines) {
  const Machine machine = machine_for_test("mi300x-8");
  const Program program = plan_for_test(all_gather("pcpy"), machine);
  const auto copies = commands_on<Copy>(program, QueueKind::dma);
  ASSERT_EQ(copies.size(), 56u);
  // Row 2 of the driver's table: to 3, 4, 5, 6, 7, 0, 1 on engines 12, 14, 6, 4, 8, 10, 2.
  const std::vector<std::uint32_t> peers{3, 4, 5, 6, 7, 0, 1};
  const std::vector<std::uint32_t> engines{12, 14, 6, 4, 8, 10, 2};
  for (std::size_t i = 0; i < 7; ++i) {
    const auto& [queue, copy] = copies[2 * 7 + i];
    EXPECT_EQ(queue->rank, RankId{2});
    EXPECT_EQ(queue->engine, EngineId{engines[i]});
    EXPECT_EQ(rank_of(program, copy.src), 2u);
    EXPECT_EQ(rank_of(program, copy.dst), peers[i]);
    EXPECT_EQ(copy.dst.offset, 2_KiB);  // block 2 of blocks of 1 KiB
  }
}

// Without an affinity table, and with more peers than engines and queues: relative to itself, every rank does the same.
TEST(AllGather, RanksThatAreAlikeDoTheSame) {
  const Machine machine = machine_for_test("switch-1024");
  CollectiveRequest request = all_gather("pcpy", 130_KiB);
  request.ranks = 130;
  const Program program = plan_for_test(request, machine);
  std::vector<std::vector<std::string>> seen(request.ranks);
  for (const auto& [queue, copy] : commands_on<Copy>(program, QueueKind::dma)) {
    const std::uint32_t distance = (rank_of(program, copy.dst) + request.ranks - queue->rank->value) % request.ranks;
    const std::string slot = queue->name.substr(queue->name.find('.'));
    seen[queue->rank->value].push_back(std::to_string(distance) + " on " + slot);
  }
  EXPECT_EQ(seen[0].size(), 129U);
  for (const auto& of_rank : seen) EXPECT_EQ(of_rank, seen[0]);
}

TEST(AllGather, BcstPairsPeersByEngine) {
  const Machine machine = machine_for_test("mi300x-8");
  const Program program = plan_for_test(all_gather("bcst"), machine);
  // Row 0: engines 2 4 6 8 10 12 14 lead to 3 4 7 5 6 2 1. The lowest alone, then (4,7) on 6, (5,6) on 10, (2,1) on 14.
  const auto copies = commands_on<Copy>(program, QueueKind::dma);
  ASSERT_EQ(copies.size(), 8u);
  EXPECT_EQ(copies[0].first->engine, EngineId{2});
  EXPECT_EQ(rank_of(program, copies[0].second.dst), 3u);
  const auto broadcasts = commands_on<Broadcast>(program, QueueKind::dma);
  ASSERT_EQ(broadcasts.size(), 24u);
  const std::vector<std::array<std::uint32_t, 3>> expected{{6, 4, 7}, {10, 5, 6}, {14, 2, 1}};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(broadcasts[i].first->engine, EngineId{expected[i][0]});
    EXPECT_EQ(rank_of(program, broadcasts[i].second.dst1), expected[i][1]);
    EXPECT_EQ(rank_of(program, broadcasts[i].second.dst2), expected[i][2]);
  }
}

TEST(AllGather, BcstOfOddRankCountsHasOnlyPairs) {
  CollectiveRequest request = all_gather("bcst");
  request.ranks = 5;  // 4 peers: 2 broadcasts a rank
  const Program program = plan_for_test(request, machine_for_test("mi300x-8"));
  EXPECT_TRUE(commands_on<Copy>(program, QueueKind::dma).empty());
  EXPECT_EQ(commands_on<Broadcast>(program, QueueKind::dma).size(), 10u);
}

TEST(AllGather, B2bStandsOnTheDefaultEngine) {
  const Program program = plan_for_test(all_gather("b2b"), machine_for_test("mi300x-8"));
  for (const auto& [queue, copy] : commands_on<Copy>(program, QueueKind::dma)) EXPECT_EQ(queue->engine, EngineId{8});
}

TEST(AllGather, B2bWaysDecideTheNumberOfEngines) {
  const Machine machine = machine_for_test("mi300x-8");
  // ceil(7 / ways) queues per rank.
  const std::vector<std::pair<std::uint32_t, std::uint64_t>> cases{{1, 7}, {2, 4}, {3, 3},  {4, 2},
                                                                   {6, 2}, {7, 1}, {100, 1}};
  for (const auto& [ways, queues] : cases) {
    CollectiveRequest request = all_gather("b2b");
    request.ways = ways;
    const ProgramCounts counts = count(plan_for_test(request, machine));
    EXPECT_EQ(counts.doorbells, 8 * queues) << ways;
    EXPECT_EQ(counts.commands, 56u);
  }
}

TEST(AllGather, UnevenBlocksAndRanksWithoutBytes) {
  const Machine machine = machine_for_test("mi300x-8");
  CollectiveRequest request = all_gather("pcpy", Bytes{3});  // ranks 0, 1, 2 have one byte, the others none
  request.in_place = false;
  const Program program = plan_for_test(request, machine);
  const ProgramCounts counts = count(program);
  EXPECT_EQ(counts.commands, 3u * 7u);
  EXPECT_EQ(counts.local_copies, 3u);
  EXPECT_EQ(counts.doorbells, 21u);
  EXPECT_EQ(program.buffers.size(), 3u + 8u);
  for (const Buffer& buffer : program.buffers) EXPECT_GT(buffer.size, Bytes{0});
}

TEST(AllGather, CopiesAboveThePacketLimitAreSplit) {
  Machine machine = machine_for_test("mi300x-8");
  machine.dma.max_copy_bytes = Bytes{1002};  // usable: 1000, a multiple of 4
  CollectiveRequest request = all_gather("pcpy", Bytes{2 * 2500});
  request.ranks = 2;
  const Program program = plan_for_test(request, machine);
  const auto copies = commands_on<Copy>(program, QueueKind::dma);
  ASSERT_EQ(copies.size(), 6u);  // 2500 = 1000 + 1000 + 500, on each of two ranks
  EXPECT_EQ(copies[0].second.src.width, Bytes{1000});
  EXPECT_EQ(copies[1].second.dst.offset, Bytes{1000});
  EXPECT_EQ(copies[2].second.src.width, Bytes{500});
  const ProgramCounts counts = count(program);
  EXPECT_EQ(counts.signals, 2u);
  EXPECT_EQ(counts.doorbells, 2u);
}

TEST(AllGather, EnginesAreSharedWhenThereAreFewerThanPeers) {
  Machine machine = machine_for_test("virtual-64");
  std::erase_if(machine.engines, [](const Engine& e) { return e.kind == EngineClass::peer && e.id.value > 3; });
  machine.dma.queues_per_engine = 4;
  CollectiveRequest request = all_gather("pcpy", Bytes{64 * 64});
  const Program program = plan_for_test(request, machine);
  const ProgramCounts counts = count(program);
  EXPECT_EQ(counts.commands, 64u * 63u);
  EXPECT_EQ(counts.doorbells, 64u * 2u * 4u);  // two engines of four queues on each GPU
  EXPECT_EQ(counts.signals, counts.doorbells);
}

}  // namespace all_gather_test
}  // namespace cortado::plan
