// Collectives on DMA engines that could be built: proved, counted, and rejected by today's machines.
#include <gtest/gtest.h>

#include "cortado/plan.hpp"
#include "cortado/target.hpp"

#include "ir/packing.hpp"
#include "verify/packet_space.hpp"

namespace cortado::plan::codesign_test {

Machine machine_named(const char* name) {
  return load_machine(name).value();
}

std::uint64_t packets_on_engines(const Program& program, const Machine& machine) {
  std::uint64_t packets = 0;
  for (const Queue& queue : program.queues) {
    if (queue.kind == QueueKind::dma) packets += packets_of(queue, packing_limits(machine.features)).size();
  }
  return packets;
}

TEST(Codesign, CollectivesAreProvedAndRefusedByMachinesOfToday) {
  const Machine today = machine_named("mi300x-8");
  const Machine tomorrow = machine_named("mi300x-8+codesign");
  for (const auto& [collective, variant] : {std::pair{Collective("all-gather"), "mcast"},
                                            {Collective("broadcast"), "mcast"},
                                            {Collective("reduce-scatter"), "add"},
                                            {Collective("all-reduce"), "add"}}) {
    for (const bool prelaunch : {false, true}) {
      CollectiveRequest request{.collective = collective, .variant = variant, .bytes = 1_MiB};
      request.prelaunch = prelaunch;
      const auto program = plan_collective(request, tomorrow);
      ASSERT_TRUE(program.has_value()) << collective.name() << ": " << program.error().message;
      EXPECT_TRUE(verify(*program, tomorrow).has_value()) << collective.name() << " " << variant;
      EXPECT_EQ(plan_collective(request, today).error().code, "plan.feature");
      const auto proved = verify(*program, today);
      ASSERT_FALSE(proved.has_value());
      EXPECT_EQ(proved.error().front().code, "verify.machine");
    }
  }
}

/// One packet to all seven peers and one signal, where plain copies take seven and seven.
TEST(Codesign, AMulticastIsOnePacketARank) {
  const Machine machine = machine_named("mi300x-8+codesign");
  CollectiveRequest request{.collective = "all-gather", .variant = "mcast", .bytes = 1_MiB};
  request.in_place = true;
  EXPECT_EQ(packets_on_engines(plan_collective(request, machine).value(), machine), 16U);
  request.variant = "pcpy";
  EXPECT_EQ(packets_on_engines(plan_collective(request, machine).value(), machine), 56U) << "copy and signal fused";
  EXPECT_EQ(packets_on_engines(plan_collective(request, machine_named("mi300x-8")).value(), machine), 112U);
}

/// A kernel of each rank submits what the host would otherwise submit; nothing waits at a gate.
TEST(Codesign, KernelsSubmitTheQueuesOfTheirGpu) {
  const Machine machine = machine_named("mi300x-8+codesign");
  CollectiveRequest request{.collective = "all-gather", .variant = "pcpy", .bytes = 1_MiB};
  request.runtime = RuntimeMode::device;
  const Program program = plan_collective(request, machine).value();
  std::uint64_t rung = 0;
  for (const Queue& queue : program.queues) {
    for (const Command& command : queue.commands) {
      rung += queue.kind == QueueKind::compute && std::holds_alternative<Submit>(command) ? 1U : 0U;
    }
  }
  EXPECT_EQ(rung, 56U);
  EXPECT_TRUE(verify(program, machine).has_value());
  Program stolen = program;  // a kernel may not ring the doorbell of another GPU
  for (Queue& queue : stolen.queues) {
    for (Command& command : queue.commands) {
      auto* submit = std::get_if<Submit>(&command);
      if (queue.kind != QueueKind::compute || submit == nullptr) continue;
      const RankId rank{(queue.rank->value + 1) % 8};
      for (std::uint32_t q = 0; q < stolen.queues.size(); ++q) {
        if (stolen.queues[q].kind == QueueKind::dma && stolen.queues[q].rank == rank) submit->queue = {q};
      }
    }
  }
  const auto refused = verify(stolen, machine);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().front().code, "verify.structure");
}

}  // namespace cortado::plan::codesign_test
