// Whatever the planner returns for a runtime is proved; what cannot run under one is refused, so that a table has the
// other variants.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cortado/target.hpp"

#include "plan/collective/testing.hpp"
#include "tests/support/sanitized.hpp"

namespace cortado::plan {
namespace runtime_test {

constexpr RuntimeMode kModes[] = {RuntimeMode::raw, RuntimeMode::runtime, RuntimeMode::library, RuntimeMode::device};

/// Whether it was planned.
bool is_proved_or_refused(const CollectiveRequest& request, const Machine& machine) {
  SCOPED_TRACE(std::string(request.collective.name()) + " " + request.variant + ", " +
               std::to_string(request.bytes.value) + " bytes, " + std::to_string(request.ranks) + " ranks of " +
               machine.name + ", mode " + std::to_string(static_cast<int>(request.runtime)));
  const auto program = plan_collective(request, machine);
  if (!program) {
    EXPECT_TRUE(program.error().code.starts_with("plan.")) << to_string(program.error());
    return false;
  }
  const auto verified = verify(*program, machine);
  EXPECT_TRUE(verified) << to_string(verified.error().front());
  return true;
}

TEST(Runtime, WhatIsPlannedIsProved) {
  std::size_t planned = 0;
  for (const char* name : {"mi300x-8", "mi250x-8", "t3-ring-8", "h100-8", "mi355x-8", "mi300x-8+codesign"}) {
    const Machine machine = machine_for_test(name);
    for (const std::uint32_t ranks : swept_ranks({2, 3, 4, 5, 6, 7, 8})) {
      for (const VariantInfo& variant : list_variants()) {
        for (const RuntimeMode mode : kModes) {
          for (const Bytes bytes : {Bytes{4}, Bytes{6144}}) {
            CollectiveRequest request{.collective = variant.collective,
                                      .variant = variant.variant,
                                      .bytes = bytes,
                                      .ranks = ranks,
                                      .in_place = default_in_place(variant.collective, variant.variant),
                                      .runtime = mode};
            if (variant.collective == "point-to-point") request.peer = RankId{ranks - 1};
            planned += is_proved_or_refused(request, machine) ? 1U : 0U;
            if (mode != RuntimeMode::raw) continue;
            request.host = HostThreads::per_rank;
            planned += is_proved_or_refused(request, machine) ? 1U : 0U;
          }
        }
      }
    }
  }
  EXPECT_GT(planned, 1000U);
}

/// A ring ends with an arrival in the memory of the next GPU, which engines for the host do not reach.
TEST(Runtime, CoordinatorsWaitInTheirOwnMemory) {
  const Machine machine = machine_for_test("mi300x-8");
  const Program program = plan_for_test({.collective = "all-gather",
                                         .variant = "ring",
                                         .bytes = 64_KiB,
                                         .ranks = 2,
                                         .in_place = true,
                                         .runtime = RuntimeMode::runtime},
                                        machine);
  for (const auto& [queue, wait] : commands_on<Wait>(program, QueueKind::dma)) {
    if (!queue->name.starts_with("coordinator")) continue;
    EXPECT_FALSE(program.signals[wait.signal.value].home) << program.signals[wait.signal.value].name;
  }
}

/// Only ranks that take part have a kernel for the barriers.
TEST(Runtime, BarriersAreOfThoseThatTakePart) {
  const Program program = plan_for_test(
      {.collective = "point-to-point", .bytes = 1_KiB, .ranks = 8, .peer = RankId{5}, .runtime = RuntimeMode::library},
      machine_for_test("mi300x-8"));
  std::vector<std::string> kernels;
  for (const Queue& queue : program.queues) {
    if (queue.name.starts_with("barrier")) kernels.push_back(queue.name);
  }
  EXPECT_EQ(kernels, (std::vector<std::string>{"barrier0", "barrier5"}));
}

TEST(Runtime, BarriersNeedLinks) {
  const CollectiveRequest request{
      .collective = "all-gather", .bytes = 64_KiB, .in_place = true, .runtime = RuntimeMode::library};
  const Diagnostic refused = refusal(request, machine_for_test("mi250x-8"));
  EXPECT_EQ(refused.code, "plan.link");
  EXPECT_EQ(refused.message,
            "the barriers of the mode library need links between all ranks, but GPU 0 of mi250x-8 has none to GPU 3");
}

}  // namespace runtime_test
}  // namespace cortado::plan
