// broadcast, scatter, gather and point-to-point.
#include "plan/collective/testing.hpp"

namespace cortado::plan {
namespace rooted_test {

CollectiveRequest rooted(Collective collective, const char* variant, bool in_place) {
  return {.collective = collective, .variant = variant, .bytes = 8_KiB, .in_place = in_place, .root = {3}};
}

TEST(Rooted, CountsOfEightGpus) {
  const Machine machine = machine_for_test("mi300x-8");
  struct Expected {
    Collective collective;
    const char* variant;
    std::uint64_t commands, doorbells;
  };
  // One move for each of 7 peers; bcst: 1 single + 3 dual; b2b: one queue of the root.
  for (const Expected& e : {Expected{"broadcast", "pcpy", 7, 7},
                            {"broadcast", "bcst", 4, 4},
                            {"broadcast", "b2b", 7, 1},
                            {"scatter", "pcpy", 7, 7},
                            {"scatter", "b2b", 7, 1},
                            {"gather", "pcpy", 7, 7}}) {
    for (const bool in_place : {false, true}) {
      const ProgramCounts counts = count(plan_for_test(rooted(e.collective, e.variant, in_place), machine));
      EXPECT_EQ(counts.commands, e.commands) << e.collective.name() << " " << e.variant;
      EXPECT_EQ(counts.local_copies, in_place ? 0u : 1u);
      // Out of place, the root of a gather has no queue that its own block could share.
      const bool extra_queue = e.collective == "gather" && !in_place;
      EXPECT_EQ(counts.doorbells, e.doorbells + (extra_queue ? 1 : 0)) << e.collective.name() << " " << e.variant;
      EXPECT_EQ(counts.signals, counts.doorbells);
    }
  }
}

TEST(Rooted, OnlyTheRootSendsInBroadcastAndScatter) {
  const Machine machine = machine_for_test("mi300x-8");
  for (const Collective collective : {Collective("broadcast"), Collective("scatter")}) {
    const Program program = plan_for_test(rooted(collective, "pcpy", false), machine);
    for (const auto& [queue, copy] : commands_on<Copy>(program, QueueKind::dma)) EXPECT_EQ(queue->rank, RankId{3});
  }
}

TEST(Rooted, GatherPushesTowardsTheRoot) {
  const Machine machine = machine_for_test("mi300x-8");
  const Program program = plan_for_test(rooted("gather", "pcpy", true), machine);
  for (const auto& [queue, copy] : commands_on<Copy>(program, QueueKind::dma)) {
    EXPECT_EQ(queue->engine, machine.engine_towards(*queue->rank, RankId{3}));
    EXPECT_EQ(copy.dst.offset, 1_KiB * queue->rank->value);
  }
}

TEST(Rooted, PointToPointIsOneCopy) {
  const Machine machine = machine_for_test("mi300x-8");
  const Program program = plan_for_test(
      {.collective = "point-to-point", .bytes = Bytes{1}, .root = {5}, .peer = {2}, .host = HostThreads::per_rank},
      machine);
  const auto copies = commands_on<Copy>(program, QueueKind::dma);
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_EQ(copies[0].first->engine, EngineId{6});                              // row 5, column 2 of the driver's table
  EXPECT_EQ(commands_on<Timestamp>(program, QueueKind::host).size(), 2u * 2u);  // only the two ranks take part
}

TEST(Rooted, BytesThatReachOnlyTheRootNeedNoCommand) {
  const CollectiveRequest request{.collective = "scatter", .bytes = Bytes{1}, .in_place = true};
  const Program program = plan_for_test(request, machine_for_test("mi300x-8"));
  EXPECT_EQ(program.queues.size(), 1u);  // the host
  EXPECT_EQ(program.contract.clauses.size(), 1u);
}

}  // namespace rooted_test
}  // namespace cortado::plan
