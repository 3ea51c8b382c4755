// Timelines that must not move: a change that only makes the simulator faster gives the same times to the bit. A change
// of the model changes these numbers on purpose; the failing test prints the new ones.
#include <string>

#include <gtest/gtest.h>

#include "cortado/plan.hpp"

#include "base/random.hpp"
#include "sim/gpu/simulate.hpp"

namespace cortado::sim {
namespace golden_test {

struct Golden {
  CollectiveRequest request;
  const char* machine;
  std::int64_t exact_ns;  ///< sum of the iteration times
  std::uint64_t exact_hash;
  std::int64_t local_ns;
  std::uint64_t local_hash;
};

std::vector<Golden> goldens() {
  CollectiveRequest switched{.collective = "all-gather", .variant = "b2b", .bytes = 24_MiB, .ranks = 24, .ways = 2};
  switched.host = HostThreads::per_rank;
  CollectiveRequest exchange{
      .collective = "all-to-all", .variant = "b2b", .bytes = 3'000'000_B, .ranks = 20, .ways = 3};
  exchange.prelaunch = true;
  const CollectiveRequest direct{.collective = "all-gather", .bytes = 6_MiB, .ranks = 6};
  const CollectiveRequest swap{
      .collective = "all-to-all", .variant = "swap", .bytes = 2_MiB, .ranks = 8, .in_place = true};
  const CollectiveRequest bcst{.collective = "all-gather", .variant = "bcst", .bytes = 4_MiB, .ranks = 8};
  return {
      {switched, "switch-1024", 138130, 13729513944037057618U, 138106, 476682868398591698U},
      {exchange, "switch-1024", 38600, 3262377920125977559U, 38600, 4229164487884564123U},
      {direct, "virtual-64", 90024, 8354182092116119946U, 90024, 8354182092116119946U},
      {swap, "virtual-64", 60612, 3736440075692566479U, 60612, 3736440075692566479U},
      {bcst, "virtual-64", 87184, 15531455705380817540U, 87184, 15531455705380817540U},
  };
}

std::uint64_t hash(const Timeline& timeline) {
  std::uint64_t sum = 0;
  const auto add = [&](std::uint64_t value) { sum = Random(sum ^ value).next(); };
  for (const Span& span : timeline.spans) {
    add(span.track);
    add(span.iteration);
    add(span.command);
    add(static_cast<std::uint64_t>(span.start.value));
    add(static_cast<std::uint64_t>(span.end.value));
  }
  for (const Flow& flow : timeline.flows) add(std::uint64_t{flow.from_span} << 32 | flow.to_span);
  return sum;
}

void expect(const CheckedProgram& program, bool local, std::int64_t ns, std::uint64_t expected) {
  const auto result = simulate(program, {.iterations = 2, .trace = true, .sharing = {.local = local}});
  ASSERT_TRUE(result) << to_string(result.error());
  std::int64_t sum = 0;
  for (const Nanoseconds time : result->timeline.iteration_times) sum += time.value;
  EXPECT_EQ(sum, ns) << program.program().name;
  EXPECT_EQ(hash(result->timeline), expected) << program.program().name;
}

TEST(Golden, TimelinesStayAsTheyAre) {
  for (const Golden& golden : goldens()) {
    const Machine machine = load_machine(golden.machine).value();
    const auto program = verify(plan_collective(golden.request, machine).value(), machine);
    ASSERT_TRUE(program) << to_string(program.error().front());
    expect(*program, false, golden.exact_ns, golden.exact_hash);
    expect(*program, true, golden.local_ns, golden.local_hash);
  }
}

}  // namespace golden_test
}  // namespace cortado::sim
