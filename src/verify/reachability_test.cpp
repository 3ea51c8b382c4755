#include "verify/reachability.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "verify/happens_before.hpp"
#include "verify/rule.hpp"
#include "verify/testing/programs.hpp"

namespace cortado::verifier {
namespace reachability_test {

/// Host queues without signals: their steps run queue by queue, so that any forward edge agrees with the execution.
Program chains(std::uint32_t queues, std::uint32_t length) {
  ProgramBuilder builder("test", "test", 1);
  for (std::uint32_t q = 0; q < queues; ++q) {
    const QueueId id = builder.host_queue("host" + std::to_string(q));
    for (std::uint32_t i = 0; i < length; ++i) builder.add(id, Timestamp{"t"});
  }
  return std::move(builder).finish();
}

std::vector<std::vector<bool>> closure(const Unrolled& unrolled, const Execution& execution,
                                       const std::vector<Edge>& edges) {
  const std::uint32_t nodes = unrolled.step_nodes();
  std::vector<std::vector<bool>> reach(nodes, std::vector<bool>(nodes, false));
  for (std::uint32_t i = nodes; i-- > 0;) {
    const Node node = execution.order[i];
    reach[node][node] = true;
    const auto take = [&](Node next) {
      for (Node n = 0; n < nodes; ++n) reach[node][n] = reach[node][n] || reach[next][n];
    };
    if (node + 1 < unrolled.end_node(unrolled.step(node).queue)) take(node + 1);
    for (const auto& [from, to] : edges) {
      if (from == node) take(to);
    }
  }
  return reach;
}

TEST(Reachability, AgreesWithTheClosureOfRandomGraphs) {
  Random random(17);
  // Few edges: no queue is a hub and everything is searched. Many edges on long queues: most are hubs. Many queues:
  // several passes over hubs, with searches between.
  for (const auto& [queues, length, edge_count] :
       {std::tuple{6U, 4U, 10U}, std::tuple{4U, 30U, 60U}, std::tuple{12U, 20U, 300U}, std::tuple{3U, 40U, 200U},
        std::tuple{30U, 6U, 600U}}) {
    for (int round = 0; round < 5; ++round) {
      const Program program = chains(queues, length);
      const Unrolled unrolled(program);
      const Execution execution = execute(unrolled);
      ASSERT_TRUE(execution.complete());
      std::vector<Edge> edges;
      while (edges.size() < edge_count) {
        const auto a = static_cast<Node>(random.below(unrolled.step_nodes()));
        const auto b = static_cast<Node>(random.below(unrolled.step_nodes()));
        if (execution.position[a] < execution.position[b]) edges.emplace_back(a, b);
      }
      const Reachability reachability(unrolled, execution, edges);
      const auto truth = closure(unrolled, execution, edges);
      std::vector<Query> queries;
      for (Node a = 0; a < unrolled.step_nodes(); ++a) {
        for (Node b = 0; b < unrolled.step_nodes(); ++b) queries.push_back({a, b, false});
      }
      reachability.answer(queries);
      for (const Query& query : queries) {
        ASSERT_EQ(query.holds, truth[query.from][query.to])
            << queues << " queues, round " << round << ": " << query.from << " to " << query.to;
      }
    }
  }
}

TEST(Reachability, NoNodeReachesNothing) {
  const Program program = chains(1, 2);
  const Unrolled unrolled(program);
  const Execution execution = execute(unrolled);
  const Reachability reachability(unrolled, execution, {});
  std::vector<Query> queries{{kNoNode, 0, true}, {0, kNoNode, true}, {1, 0, true}, {0, 0, false}};
  reachability.answer(queries);
  EXPECT_FALSE(queries[0].holds);
  EXPECT_FALSE(queries[1].holds);
  EXPECT_FALSE(queries[2].holds);
  EXPECT_TRUE(queries[3].holds);
}

/// Nodes and pairs that the race rule looks at.
std::uint64_t work_of_race_rule(const Program& program) {
  const Machine machine = testing::test_machine(program.ranks);
  Subject subject(program, machine);
  Findings findings("verify.race", 8);
  std::ranges::find(rules(), "verify.race", &Rule::code)->check(subject, findings);
  EXPECT_TRUE(findings.empty());
  return subject.happens_before().work();
}

TEST(Reachability, WorkGrowsWithTheNumberOfCommands) {
  // Doubling the ranks of an all-to-all makes four times as many commands. One host queue is one hub, so the work
  // should grow by four as well; 4.5 leaves room for what is not proportional.
  std::uint64_t last = work_of_race_rule(testing::all_to_all(8));
  for (const std::uint32_t ranks : {16U, 32U, 64U}) {
    const std::uint64_t work = work_of_race_rule(testing::all_to_all(ranks));
    EXPECT_LT(static_cast<double>(work), 4.5 * static_cast<double>(last)) << ranks << " ranks";
    last = work;
  }
}

TEST(Reachability, WorkWithAHostQueueARankGrowsWithCommandsTimesEighthOfRanks) {
  // A hub a rank, eight of them in a pass: 32 ranks are 4 passes, 64 ranks are 8, over four times the nodes: 8 times.
  const std::uint64_t small = work_of_race_rule(testing::all_gather_per_rank(32, 4));
  const std::uint64_t large = work_of_race_rule(testing::all_gather_per_rank(64, 4));
  EXPECT_LT(static_cast<double>(large), 9.0 * static_cast<double>(small));
}

}  // namespace reachability_test
}  // namespace cortado::verifier
