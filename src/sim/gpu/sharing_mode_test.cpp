// How far local sharing of rates is from exact in whole simulations, and that a Timeline says which was used.
#include <cmath>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cortado/plan.hpp"

#include "base/random.hpp"
#include "sim/gpu/simulate.hpp"

namespace cortado::sim {
namespace sharing_mode_test {

/// A direct all-gather behind a switch whose ports are full, so that every transfer is connected with every other;
/// sizes differ by up to 10 %. Such a program breaks its contract, hence is not proved.
CheckedProgram unequal_all_gather(std::uint32_t ranks, std::uint64_t seed) {
  const Machine machine = load_machine("switch-1024").value();
  CollectiveRequest request{.collective = "all-gather", .variant = "b2b", .bytes = ranks * 1_MiB, .ranks = ranks};
  request.ways = 3;
  request.in_place = true;
  request.host = HostThreads::per_rank;
  Program program = plan_collective(request, machine).value();
  Random random(seed);
  for (Queue& queue : program.queues) {
    for (Command& command : queue.commands) {
      auto* copy = std::get_if<Copy>(&command);
      if (copy == nullptr) continue;
      copy->src.width = copy->dst.width = Bytes{(1_MiB).value - random.below((1_MiB).value / 10)};
    }
  }
  return unproved(std::move(program), machine);
}

Simulated simulated(const CheckedProgram& program, RateSharing sharing) {
  return simulate(program, {.iterations = 1, .trace = false, .sharing = sharing}).value();
}

TEST(SharingMode, LocalIsWithinOnePercentOfTheCompletionTimeAndCheaper) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const CheckedProgram program = unequal_all_gather(40, seed);
    const Simulated exact = simulated(program, {});
    const Simulated local = simulated(program, {.local = true});
    const auto time = [](const Simulated& s) { return static_cast<double>(median_time(s.timeline).value); };
    EXPECT_NEAR(time(local) / time(exact), 1, 0.01) << "seed " << seed;
    EXPECT_LT(local.sharing_work * 3, exact.sharing_work) << "seed " << seed;
  }
}

TEST(SharingMode, TheTimelineNamesAnApproximation) {
  const CheckedProgram program = unequal_all_gather(4, 1);
  EXPECT_EQ(simulated(program, {}).timeline.where, "simulated switch-1024");
  EXPECT_EQ(simulated(program, {.local = true, .tolerance = 0.02}).timeline.where,
            "simulated switch-1024, local sharing within 2 %");
}

}  // namespace sharing_mode_test
}  // namespace cortado::sim
