#include "verify/reachability.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "verify/happens_before.hpp"
#include "verify/rule.hpp"
#include "verify/testing/programs.hpp"

namespace cortado::verifier {
namespace reachability_test {

/// Host queues without signals: their steps run queue by queue, so that any edge to a later queue agrees with the
/// execution.
Program chains(std::uint32_t queues, std::uint32_t length) {
  ProgramBuilder builder("test", "test", 1);
  for (std::uint32_t q = 0; q < queues; ++q) {
    const QueueId id = builder.host_queue("host" + std::to_string(q));
    for (std::uint32_t i = 0; i < length; ++i) builder.add(id, Timestamp{"t"});
  }
  return std::move(builder).finish();
}

using Sources = std::vector<std::set<std::uint32_t>>;  // by step

Edges as_edges(const Sources& sources) {
  Edges edges;
  for (const auto& of_step : sources) {
    edges.neighbours.insert(edges.neighbours.end(), of_step.begin(), of_step.end());
    edges.end_point();
  }
  return edges;
}

/// By node: what comes before it.
std::vector<std::vector<bool>> closure(const Unrolled& unrolled, const Execution& execution, const Sources& sources) {
  std::vector<std::vector<bool>> before(unrolled.node_count(), std::vector<bool>(unrolled.node_count(), false));
  for (const Node node : execution.order) {
    before[node][node] = true;
    const auto take = [&](Node last) {
      for (Node n = 0; n < unrolled.node_count(); ++n) before[node][n] = before[node][n] || before[last][n];
    };
    const std::uint32_t step = unrolled.point(node);
    const std::uint32_t chain = unrolled.step(node).chain;
    if (step > unrolled.first_step(chain)) {
      take(node - 1);
    } else if (unrolled.iteration(node) > 0) {
      take(unrolled.node(step + unrolled.step_count(chain) - 1, 0));
    }
    for (const std::uint32_t source : sources[step]) take(unrolled.node(source, unrolled.iteration(node)));
  }
  return before;
}

TEST(Reachability, AgreesWithTheClosureOfRandomGraphs) {
  Random random(17);
  // Long queues and those with many edges have lanes. Many short queues: everything but the first is searched.
  for (const auto& [queues, length, edge_count] :
       {std::tuple{6U, 4U, 10U}, std::tuple{4U, 30U, 60U}, std::tuple{12U, 20U, 300U}, std::tuple{3U, 40U, 200U},
        std::tuple{30U, 6U, 600U}, std::tuple{100U, 2U, 150U}, std::tuple{100U, 2U, 600U}}) {
    for (int round = 0; round < 5; ++round) {
      const Program program = chains(queues, length);
      const Unrolled unrolled(program);
      const Execution execution = execute(unrolled);
      ASSERT_TRUE(execution.complete());
      Sources sources(unrolled.steps().size());
      for (std::uint32_t e = 0; e < edge_count;) {
        const auto a = static_cast<std::uint32_t>(random.below(sources.size()));
        const auto b = static_cast<std::uint32_t>(random.below(sources.size()));
        if (unrolled.steps()[a].chain >= unrolled.steps()[b].chain) continue;
        sources[b].insert(a);
        ++e;
      }
      const Reachability reachability(unrolled, execution, as_edges(sources));
      const auto truth = closure(unrolled, execution, sources);
      for (Node a = 0; a < unrolled.node_count(); ++a) {
        for (Node b = 0; b < unrolled.node_count(); ++b) {
          ASSERT_EQ(reachability.reaches(a, b), truth[b][a])
              << queues << " queues, round " << round << ": " << a << " to " << b;
        }
      }
    }
  }
}

TEST(Reachability, NoNodeReachesNothing) {
  const Program program = chains(1, 2);
  const Unrolled unrolled(program);
  const Execution execution = execute(unrolled);
  const Reachability reachability(unrolled, execution, as_edges(Sources(2)));
  EXPECT_FALSE(reachability.reaches(kNoNode, 0));
  EXPECT_FALSE(reachability.reaches(0, kNoNode));
  EXPECT_FALSE(reachability.reaches(1, 0));
  EXPECT_TRUE(reachability.reaches(0, 0));
}

/// Rows, edges and pairs that the race rule looks at.
std::uint64_t work_of_race_rule(const Program& program) {
  const Machine machine = testing::test_machine(program.ranks);
  Subject subject(program, machine);
  Findings findings("verify.race", 8);
  std::ranges::find(rules(), "verify.race", &Rule::code)->check(subject, findings);
  EXPECT_TRUE(findings.empty());
  return subject.happens_before().work();
}

TEST(Reachability, WorkGrowsWithTheNumberOfCommands) {
  // Doubling the ranks of an all-to-all makes four times as many commands. One host queue is one lane, so the work
  // should grow by four as well; 4.5 leaves room for what is not proportional.
  std::uint64_t last = work_of_race_rule(testing::all_to_all(8));
  for (const std::uint32_t ranks : {16U, 32U, 64U}) {
    const std::uint64_t work = work_of_race_rule(testing::all_to_all(ranks));
    EXPECT_LT(static_cast<double>(work), 4.5 * static_cast<double>(last)) << ranks << " ranks";
    last = work;
  }
}

TEST(Reachability, WorkWithAHostQueueARankGrowsWithCommandsTimesEighthOfRanks) {
  // A lane a rank, eight of them in a block: 32 ranks are 4 blocks, 64 ranks are 8, over four times the nodes: 8 times.
  const std::uint64_t small = work_of_race_rule(testing::all_gather_per_rank(32, 4));
  const std::uint64_t large = work_of_race_rule(testing::all_gather_per_rank(64, 4));
  EXPECT_LT(static_cast<double>(large), 9.0 * static_cast<double>(small));
}

}  // namespace reachability_test
}  // namespace cortado::verifier
