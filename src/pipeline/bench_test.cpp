#include "pipeline/bench.hpp"

#include <array>
#include <map>

#include <gtest/gtest.h>

#include "cortado/target.hpp"

#include "tests/support/sanitized.hpp"

namespace cortado::pipeline {
namespace bench_test {

TEST(Bench, SweepsVariantsSizesAndPrelaunch) {
  const auto machine = load_machine("mi300x-8");
  ASSERT_TRUE(machine);
  BenchRequest request;
  request.base.collective = "all-gather";
  request.sizes = {1_KiB, 2_KiB};
  request.warmup = 1;
  request.iterations = 2;
  const auto plan = plan_bench(request, *machine);
  ASSERT_TRUE(plan) << to_string(plan.error().errors.front());
  // pcpy, bcst, b2b, ring x 2 sizes x with and without prelaunch, and cores-ll, cores-simple, cores-ring, library x 2
  // sizes; all in place.
  ASSERT_EQ(plan->points.size(), 4U * 2U * 2U + 4U * 2U);
  EXPECT_TRUE(plan->skipped.empty());
  const auto target = open_target({"soft", 8, {}}, *machine);
  ASSERT_TRUE(target);
  PointRunner runner(*plan, request, **target, {}, 1);
  for (std::size_t i = 0; i < plan->points.size(); ++i) {
    const auto row = runner.run(i);
    ASSERT_TRUE(row) << to_string(row.error().errors.front());
    EXPECT_EQ(row->wrong, 0U);
    EXPECT_TRUE(row->in_place);
    const std::map<std::string, std::array<std::uint64_t, 3>> published{
        {"pcpy", {56, 56, 56}},     {"bcst", {32, 32, 32}},    {"b2b", {56, 8, 8}},
        {"ring", {56, 56, 8}},      {"cores-ll", {112, 0, 0}}, {"cores-simple", {56, 0, 0}},
        {"cores-ring", {56, 0, 0}}, {"library", {784, 0, 0}}};  // 14 rings of 7 steps on each of 8 ranks
    EXPECT_EQ((std::array{row->counts.commands, row->counts.signals, row->counts.doorbells}),
              published.at(row->variant));
  }
}

// Libraries choose protocols by estimates of their own, but none stays with one that takes longer than another one
// takes for twice the bytes.
TEST(Bench, TwiceTheBytesTakeALibraryNoLessTime) {
  constexpr std::array<Collective, 4> kLibraryCollectives{"all-gather", "reduce-scatter", "all-reduce", "all-to-all"};
  constexpr double kLevel = 0.97;
  for (const char* name : tried_values({"h100-8", "b200-8", "mi300x-8", "mi355x-8"}, 1)) {
    const Machine machine = load_machine(name).value();
    const auto target = open_target({"sim", machine.gpus, {}}, machine);
    ASSERT_TRUE(target);
    for (const Collective collective : kLibraryCollectives) {
      BenchRequest request;
      request.base.collective = collective;
      request.variants = {"library"};
      request.prelaunch = {false};
      for (Bytes bytes = 1_KiB; bytes <= 64_MiB; bytes = 2 * bytes) request.sizes.push_back(bytes);
      const auto plan = plan_bench(request, machine);
      ASSERT_TRUE(plan) << to_string(plan.error().errors.front());
      PointRunner runner(*plan, request, **target, {}, 1);
      Nanoseconds last{};
      for (std::size_t i = 0; i < plan->points.size(); ++i) {
        const auto row = runner.run(i);
        ASSERT_TRUE(row) << to_string(row.error().errors.front());
        EXPECT_GE(microseconds(row->time), kLevel * microseconds(last))
            << name << " " << collective.name() << " of " << row->bytes.value;
        last = row->time;
      }
    }
  }
}

TEST(Bench, PointsThatCannotBePlannedAreKeptWithTheReason) {
  const auto machine = load_machine("mi300x-8");
  ASSERT_TRUE(machine);
  BenchRequest request;
  request.base.collective = "all-to-all";
  request.variants = {"swap"};
  request.sizes = {8 * 64_B, 8 * 65_B};  // blocks of 64 bytes can be swapped, blocks of 65 are not aligned
  request.prelaunch = {false};
  const auto plan = plan_bench(request, *machine);
  ASSERT_TRUE(plan) << to_string(plan.error().errors.front());
  EXPECT_EQ(plan->points.size(), 1U);
  ASSERT_EQ(plan->skipped.size(), 1U);
  EXPECT_EQ(plan->skipped[0].bytes, 8 * 65_B);
}

TEST(Bench, PlanningCanBeStopped) {
  const auto machine = load_machine("mi300x-8");
  ASSERT_TRUE(machine);
  BenchRequest request;
  request.base.collective = "all-gather";
  request.variants = {"pcpy"};
  request.sizes = {1_KiB, 2_KiB};
  std::vector<std::size_t> asked;
  const auto plan = plan_bench(request, *machine, [&](std::size_t done, std::size_t of) {
    EXPECT_EQ(of, 4U);  // two sizes, with and without prelaunch
    asked.push_back(done);
    return done < 2;
  });
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().errors.front().code, "bench.interrupted");
  EXPECT_EQ(asked, (std::vector<std::size_t>{0, 1, 2}));
}

TEST(Bench, PrelaunchAskedForWhereThereIsNoneIsNamed) {
  const auto machine = load_machine("mi300x-8");
  ASSERT_TRUE(machine);
  BenchRequest request;
  request.base.collective = "all-gather";
  request.variants = {"b2b", "cores-ll"};
  request.sizes = {1_KiB};
  request.prelaunch = {true};
  const auto plan = plan_bench(request, *machine);
  ASSERT_TRUE(plan) << to_string(plan.error().errors.front());
  EXPECT_EQ(plan->points.size(), 1U);
  ASSERT_EQ(plan->skipped.size(), 1U);
  EXPECT_EQ(plan->skipped[0].reason.code, "plan.prelaunch");
}

TEST(Bench, FailsIfNothingCanBePlanned) {
  const auto machine = load_machine("mi300x-8");
  ASSERT_TRUE(machine);
  BenchRequest request;
  request.base.collective = "all-gather";
  request.variants = {"none"};
  request.sizes = {1_KiB};
  const auto plan = plan_bench(request, *machine);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().stage, Stage::plan);
}

TEST(Bench, ChosenVariantsAreLabelled) {
  const Machine machine = load_machine("virtual-64").value();
  BenchRequest request;
  request.base.collective = "all-gather";
  request.base.ranks = 8;
  request.variants = {"auto", "pcpy"};
  request.among = {"pcpy", "b2b"};
  request.sizes = {16_KiB, 1_GiB};
  request.prelaunch = {false};
  Chooser chooser(machine, {});
  const auto plan = plan_bench(request, machine, {}, &chooser);
  ASSERT_TRUE(plan) << to_string(plan.error().errors.front());
  std::vector<std::string> labels;
  for (const BenchPoint& point : plan->points) labels.push_back(point.label);
  EXPECT_EQ(labels, (std::vector<std::string>{"auto:b2b", "pcpy", "auto:pcpy", "pcpy"}));
  EXPECT_EQ(plan->points.front().request.variant, "b2b");
}

}  // namespace bench_test
}  // namespace cortado::pipeline
