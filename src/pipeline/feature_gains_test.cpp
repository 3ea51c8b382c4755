#include "pipeline/feature_gains.hpp"

#include <gtest/gtest.h>

#include "cortado/plan.hpp"
#include "cortado/study.hpp"
#include "cortado/target.hpp"

namespace cortado::pipeline::feature_gains_test {

/// Private packets on real bytes, whatever order the engines take.
TEST(EngineFeatures, HaveEveryByteRightOnTheEmbeddedNode) {
  const Machine machine = load_machine("mi300x-8+codesign").value();
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}}) {
    TargetRequest asked{.name = "soft", .gpus = 4};
    RunOptions options{.iterations = 3};
    options.device.check = device::CheckOutputs::every;
    if (seed > 0) {
      asked.soft.adversarial_seed = seed;
      options.device.adversarial_seed = seed;
    }
    const auto target = open_target(asked, machine).value();
    const auto run = [&](CollectiveRequest request, const char* what) {
      request.ranks = 4;
      request.bytes = 4_KiB;
      const auto program = prove(plan_collective(request, machine), machine);
      ASSERT_TRUE(program.has_value()) << what;
      const auto result = target->run(*program, options);
      ASSERT_TRUE(result.has_value()) << what << ": " << result.error().errors.front().message;
      ASSERT_TRUE(result->check.has_value()) << what;
      EXPECT_EQ(result->check->wrong, 0U) << what;
      EXPECT_GT(result->check->checked, 0U) << what;
    };
    run({.collective = "all-gather", .variant = "mcast", .prelaunch = true}, "multicast");
    run({.collective = "broadcast", .variant = "mcast"}, "multicast from a root");
    run({.collective = "all-gather", .variant = "pcpy", .prelaunch = true}, "fused");
    run({.collective = "reduce-scatter", .variant = "add"}, "engines that add");
    run({.collective = "all-reduce", .variant = "add", .prelaunch = true}, "engines that add, then gather");
    run({.collective = "all-gather", .variant = "b2b", .runtime = RuntimeMode::device}, "kernels that ring");
  }
}

/// A program for packets that a node does not have is refused before anything runs.
TEST(EngineFeatures, AreRefusedByNodesWithoutThem) {
  const Machine tomorrow = load_machine("mi300x-8+codesign").value();
  const auto today = open_target({.name = "soft", .gpus = 8}, load_machine("mi300x-8").value()).value();
  CollectiveRequest request{.collective = "all-gather", .variant = "mcast", .bytes = 4_KiB};
  const auto multicast = today->run(prove(plan_collective(request, tomorrow), tomorrow).value(), {});
  ASSERT_FALSE(multicast.has_value());
  EXPECT_EQ(multicast.error().errors.front().code, "device.packets");
  request.variant = "pcpy";
  request.runtime = RuntimeMode::device;
  Machine ringing = load_machine("mi300x-8").value();
  ringing = with_features(ringing, {"device-initiated"}).value();
  const auto rung = today->run(prove(plan_collective(request, ringing), ringing).value(), {});
  ASSERT_FALSE(rung.has_value());
  EXPECT_EQ(rung.error().errors.front().code, "device.packets");
}

TEST(EngineFeatures, NeverCostTimeAndHelpWhereTheyShould) {
  const Machine machine = load_machine("mi300x-8").value();
  const auto gains = feature_gains(machine, {"multicast", "indirect"});
  ASSERT_TRUE(gains.has_value()) << gains.error().errors.front().message;
  double small_gather = 0;
  double fragments = 0;
  double whole_blocks = 0;
  for (const FeatureGain& row : gains->rows) {
    EXPECT_LE(row.tomorrow_seconds, row.today_seconds) << row.feature << ", " << row.question;
    const double gain = row.today_seconds / row.tomorrow_seconds;
    if (row.feature == "multicast" && row.question == "all-gather 64KiB") small_gather = gain;
    if (row.feature == "indirect" && row.question.find("70b tp 8 per-layer") != std::string::npos) fragments = gain;
    if (row.feature == "indirect" && row.question.find("cross-layer") != std::string::npos) whole_blocks = gain;
  }
  EXPECT_GT(small_gather, 1.05);
  EXPECT_GT(fragments, 1.3);  // 4 KiB each: 507 ns of the engine for a packet, 50 for an entry
  EXPECT_LT(whole_blocks, 1.1);
  EXPECT_FALSE(feature_gains(machine, {"magic"}).has_value());
}

}  // namespace cortado::pipeline::feature_gains_test
