// Many simulations in one process, one a thread, share nothing: each gives the Timeline it gives alone, bit for bit.
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "cortado/plan.hpp"

#include "sim/gpu/simulate.hpp"

namespace cortado::sim {
namespace threads_test {

void expect_same(const Timeline& a, const Timeline& b) {
  EXPECT_EQ(a.iteration_times, b.iteration_times);
  EXPECT_EQ(a.bytes_moved, b.bytes_moved);
  ASSERT_EQ(a.spans.size(), b.spans.size());
  for (std::size_t i = 0; i < a.spans.size(); ++i) {
    EXPECT_EQ(a.spans[i].track, b.spans[i].track);
    EXPECT_EQ(a.spans[i].command, b.spans[i].command);
    EXPECT_EQ(a.spans[i].iteration, b.spans[i].iteration);
    EXPECT_EQ(a.spans[i].start, b.spans[i].start);
    EXPECT_EQ(a.spans[i].end, b.spans[i].end);
  }
  ASSERT_EQ(a.flows.size(), b.flows.size());
  for (std::size_t i = 0; i < a.flows.size(); ++i) {
    EXPECT_EQ(a.flows[i].from_span, b.flows[i].from_span);
    EXPECT_EQ(a.flows[i].to_span, b.flows[i].to_span);
  }
}

TEST(Threads, SimulationsSideBySideGiveWhatOneGives) {
  const Machine machine = load_machine("switch-1024").value();
  CollectiveRequest request{.collective = "all-to-all", .variant = "b2b", .bytes = 3'000'000_B, .ranks = 16, .ways = 2};
  const VerifiedProgram program = verify(plan_collective(request, machine).value(), machine).value();
  for (const bool local : {false, true}) {
    const SimulateOptions options{.iterations = 2, .trace = true, .sharing = {.local = local}};
    const Timeline alone = simulate(program, options).value().timeline;
    for (const std::size_t threads : {1U, 2U, 4U}) {
      std::vector<Timeline> timelines(threads);
      std::vector<std::thread> running;
      for (Timeline& timeline : timelines) {
        running.emplace_back([&] { timeline = simulate(program, options).value().timeline; });
      }
      for (std::thread& thread : running) thread.join();
      for (const Timeline& timeline : timelines) expect_same(timeline, alone);
    }
  }
}

}  // namespace threads_test
}  // namespace cortado::sim
