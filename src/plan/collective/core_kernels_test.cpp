#include "plan/collective/core_kernels.hpp"

#include <gmock/gmock.h>

#include "plan/collective/testing.hpp"

namespace cortado::plan {
namespace core_kernels_test {

CollectiveRequest on_cores(Collective collective, const std::string& variant, bool in_place = false) {
  return {.collective = collective, .variant = variant, .bytes = 8_KiB, .ranks = 8, .in_place = in_place};
}

/// Letters of a part: c copy, k kernel, S signal, W wait.
std::string shape(const Queue& queue) {
  std::string letters;
  for (const Command& command : queue.commands) {
    letters += match(
        command, [](const Copy&) { return 'c'; }, [](const Kernel&) { return 'k'; }, [](const Signal&) { return 'S'; },
        [](const Wait&) { return 'W'; }, [](const auto&) { return '?'; });
  }
  return letters;
}

const Queue& queue_named(const Program& program, const std::string& name) {
  for (const Queue& queue : program.queues) {
    if (queue.name == name) return queue;
  }
  ADD_FAILURE() << "no queue " << name;
  return program.queues.front();
}

TEST(CoreKernels, OneKernelARankAndNoEngine) {
  const Machine machine = machine_for_test("mi300x-8");
  for (const Collective collective :
       {Collective("all-gather"), Collective("all-to-all"), Collective("reduce-scatter"), Collective("all-reduce")}) {
    for (const char* variant : {"cores-ll", "cores-simple"}) {
      const Program program = plan_for_test(on_cores(collective, variant), machine);
      const ProgramCounts counts = count(program);
      EXPECT_EQ(counts.kernels, 8u) << collective.name() << " " << variant;
      EXPECT_EQ(counts.doorbells, 0u);
      EXPECT_EQ(counts.signals, 0u);
      for (const Queue& queue : program.queues) EXPECT_NE(queue.kind, QueueKind::dma);
      for (const auto& [host, submit] : commands_on<Submit>(program, QueueKind::host)) {
        EXPECT_EQ(host->rank, program.queue(submit.queue).rank);  // one thread a rank, whatever was asked for
      }
    }
  }
}

// ll: each of 56 blocks twice on the wire, one flag each, and one done. simple: each once; ready, arrived and done.
TEST(CoreKernels, CopiesAndFlagsOfAllGather) {
  const Machine machine = machine_for_test("mi300x-8");
  const Program ll = plan_for_test(on_cores("all-gather", "cores-ll", true), machine);
  EXPECT_EQ(count(ll).commands, 2u * 56u);
  EXPECT_EQ(count(ll).local_copies, 56u);  // unpacking
  EXPECT_EQ(commands_on<Signal>(ll, QueueKind::compute).size(), 2u * 56u);
  EXPECT_EQ(shape(queue_named(ll, "cores0.3")), "ccSWcS");
  const Program simple = plan_for_test(on_cores("all-gather", "cores-simple", true), machine);
  EXPECT_EQ(count(simple).commands, 56u);
  EXPECT_EQ(count(simple).local_copies, 0u);
  EXPECT_EQ(commands_on<Signal>(simple, QueueKind::compute).size(), 3u * 56u);
  EXPECT_EQ(shape(queue_named(simple, "cores0.3")), "SWcSWS");
}

TEST(CoreKernels, SendsAndReceivesOfAllToAllHavePartsOfTheirOwn) {
  const Machine machine = machine_for_test("mi300x-8");
  const Program ll = plan_for_test(on_cores("all-to-all", "cores-ll"), machine);
  EXPECT_EQ(shape(queue_named(ll, "cores0.3.send")), "ccS");
  EXPECT_EQ(shape(queue_named(ll, "cores0.3.receive")), "WcS");
  const Program simple = plan_for_test(on_cores("all-to-all", "cores-simple"), machine);
  EXPECT_EQ(shape(queue_named(simple, "cores0.3.send")), "WcS");
  EXPECT_EQ(shape(queue_named(simple, "cores0.3.receive")), "SWS");
  for (const Program* program : {&ll, &simple}) {
    std::uint32_t calls = 0;
    for (const Queue& queue : program->queues) calls += queue.calls;
    EXPECT_EQ(calls, 8u * 7u * 2u);
  }
}

TEST(CoreKernels, FlagsLieWhereTheyAreWaitedFor) {
  const Program program = plan_for_test(on_cores("all-reduce", "cores-simple"), machine_for_test("mi300x-8"));
  for (const auto& [queue, wait] : commands_on<Wait>(program, QueueKind::compute)) {
    EXPECT_EQ(program.signals[wait.signal.value].home, queue->rank) << program.signals[wait.signal.value].name;
  }
}

TEST(CoreKernels, ReductionsAddAtTheOwner) {
  const Machine machine = machine_for_test("mi300x-8");
  const Program scatter = plan_for_test(on_cores("reduce-scatter", "cores-ll"), machine);
  EXPECT_EQ(shape(queue_named(scatter, "cores0.3")), "ccS");
  EXPECT_EQ(shape(queue_named(scatter, "cores0.own")), "WWWWWWWkS");
  // To the owner and a flag; then, when the sum is complete, the sum to the peer and a flag; unpack what the peer
  // sends.
  const Program ll = plan_for_test(on_cores("all-reduce", "cores-ll"), machine);
  EXPECT_EQ(shape(queue_named(ll, "cores0.3")), "ccSWccSWcS");
  // The peer is told that its sum may be sent before this rank waits for its own sum.
  const Program simple = plan_for_test(on_cores("all-reduce", "cores-simple"), machine);
  EXPECT_EQ(shape(queue_named(simple, "cores0.3")), "SWcSSWWcSWS");
}

TEST(CoreKernels, ComputeUnitsAreSplitAmongTheParts) {
  const Machine machine = machine_for_test("mi300x-8");
  const auto units = [&](CollectiveRequest request, std::uint32_t given) {
    request.compute_units = given;
    std::vector<std::uint32_t> of_parts;
    for (const Queue& queue : plan_for_test(request, machine).queues) {
      if (queue.kind == QueueKind::compute && queue.rank == RankId{0}) of_parts.push_back(*queue.compute_units);
    }
    std::sort(of_parts.begin(), of_parts.end());
    return of_parts;
  };
  using testing::ElementsAre;
  // As many as the library uses, 56 = 7 * 8; out of place, the own block also has a part: 56 = 8 * 7.
  EXPECT_THAT(units(on_cores("all-gather", "cores-simple", true), 0), testing::Each(8u));
  EXPECT_THAT(units(on_cores("all-gather", "cores-simple"), 0), testing::Each(7u));
  EXPECT_THAT(units(on_cores("all-gather", "cores-ll"), 32), testing::Each(4u));
  // Sends and receives have half of a peer's units each, 14 * 2 + 4, or 7 * (3 + 2) + 5; with one unit they share it.
  EXPECT_THAT(units(on_cores("all-to-all", "cores-ll"), 32), ElementsAre(2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 4));
  EXPECT_THAT(units(on_cores("all-to-all", "cores-ll"), 40), ElementsAre(2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 5));
  EXPECT_THAT(units(on_cores("all-to-all", "cores-ll"), 8), ElementsAre(1, 1, 1, 1, 1, 1, 1, 1));
  // Sums are made while the other parts wait.
  EXPECT_THAT(units(on_cores("reduce-scatter", "cores-ll"), 28), ElementsAre(4, 4, 4, 4, 4, 4, 4, 28));
}

TEST(CoreKernels, OptionsThatDoNotFitAreRefused) {
  const Machine machine = machine_for_test("mi300x-8");
  CollectiveRequest request = on_cores("all-gather", "cores-ll");
  request.prelaunch = true;
  EXPECT_EQ(refusal(request, machine).code, "plan.prelaunch");
  request.prelaunch = false;
  for (const std::uint32_t units : {7u, 305u}) {
    request.compute_units = units;
    const Diagnostic refused = refusal(request, machine);
    EXPECT_EQ(refused.code, "plan.compute_units");
    EXPECT_EQ(refused.hint, "use 8 to 304, or leave it out");
  }
  request.variant = "pcpy";
  request.compute_units = 32;
  EXPECT_EQ(refusal(request, machine).code, "plan.compute_units");
}

TEST(CoreKernels, MachinesWithoutEnginesForPeersWillDo) {
  Machine machine = machine_for_test("mi300x-8");
  std::erase_if(machine.engines, [](const Engine& e) { return e.kind == EngineClass::peer; });
  machine.dma.max_copy_bytes = 64_B;  // packets do not matter either
  const Program program = plan_for_test(on_cores("all-gather", "cores-simple", true), machine);
  EXPECT_EQ(count(program).commands, 56u);
}

}  // namespace core_kernels_test
}  // namespace cortado::plan
