#include "plan/collective/host.hpp"

#include "cortado/target.hpp"

#include "plan/collective/testing.hpp"

namespace cortado::plan {
namespace host_test {

const Queue& host_of(const Program& program, std::optional<RankId> rank) {
  for (const Queue& queue : program.queues) {
    if (queue.kind == QueueKind::host && queue.rank == rank) return queue;
  }
  ADD_FAILURE() << "no such host queue";
  return program.queues.front();
}

/// The sequence of commands as letters: T timestamp, s submit, t trigger, S signal, W wait; runs are shown once.
std::string shape(const Queue& queue) {
  std::string letters;
  for (const Command& command : queue.commands) {
    const char letter = match(
        command, [](const Timestamp&) { return 'T'; }, [](const Submit&) { return 's'; },
        [](const Trigger&) { return 't'; }, [](const Signal&) { return 'S'; }, [](const Wait&) { return 'W'; },
        [](const auto&) { return '?'; });
    if (letters.empty() || letters.back() != letter) letters += letter;
  }
  return letters;
}

CollectiveRequest request(HostThreads host, bool prelaunch) {
  return {.collective = "all-gather",
          .variant = "b2b",
          .bytes = 4_KiB,
          .ranks = 4,
          .prelaunch = prelaunch,
          .in_place = true,
          .host = host};
}

TEST(Host, SingleSubmitsAndWaitsForAll) {
  const Program program = plan_for_test(request(HostThreads::single, false), machine_for_test("mi300x-8"));
  EXPECT_EQ(shape(host_of(program, {})), "TsWT");
}

/// Compute trays of GB200 NVL72 have 4 GPUs and an operating system each.
TEST(Host, OneThreadDrivesTheGpusOfOneComputerOnly) {
  const Machine rack = machine_for_test("gb200-nvl72");
  const auto hosts_of = [&](std::uint32_t ranks) {
    const Program program = plan_for_test(
        {.collective = "all-gather", .variant = "b2b", .bytes = 72_KiB, .ranks = ranks, .in_place = true}, rack);
    EXPECT_TRUE(verify(program, rack)) << ranks;
    return std::ranges::count(program.queues, QueueKind::host, &Queue::kind);
  };
  EXPECT_EQ(hosts_of(4), 1);
  EXPECT_EQ(hosts_of(8), 8);
  CollectiveRequest asked = request(HostThreads::single, false);
  EXPECT_TRUE(plan_collective(asked, rack));
  asked.ranks = 8;
  EXPECT_EQ(refusal(asked, rack).code, "plan.hosts");
}

TEST(Host, PrelaunchIsTimedFromTheTrigger) {
  const Program program = plan_for_test(request(HostThreads::single, true), machine_for_test("mi300x-8"));
  EXPECT_EQ(shape(host_of(program, {})), "sTtWT");
  for (const Queue& queue : program.queues) {
    if (queue.kind != QueueKind::dma) continue;
    EXPECT_TRUE(std::holds_alternative<Wait>(queue.commands.front())) << queue.name;
  }
}

TEST(Host, TriggerWordsPerQueueAreWrittenInTheOrderOfSubmission) {
  CollectiveRequest asked = request(HostThreads::single, true);
  asked.trigger_words = TriggerWords::per_queue;
  const Program program = plan_for_test(asked, machine_for_test("mi300x-8"));
  EXPECT_EQ(shape(host_of(program, {})), "sTtWT");
  std::vector<SignalId> gates;
  for (const Queue& queue : program.queues) {
    if (queue.kind == QueueKind::dma) gates.push_back(std::get<Wait>(queue.commands.front()).signal);
  }
  std::vector<SignalId> written;
  for (const Command& command : host_of(program, {}).commands) {
    if (const auto* trigger = std::get_if<Trigger>(&command)) written.push_back(trigger->signal);
  }
  EXPECT_EQ(written.size(), 4U);  // one queue a rank
  EXPECT_EQ(written, gates);
}

TEST(Host, TriggerWordsPerQueueNeedPrelaunch) {
  CollectiveRequest asked = request(HostThreads::single, false);
  asked.trigger_words = TriggerWords::per_queue;
  const auto program = plan_collective(asked, machine_for_test("mi300x-8"));
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().code, "plan.triggers");
}

TEST(Host, PerRankHasBarriersBeforeAndAfter) {
  const Program program = plan_for_test(request(HostThreads::per_rank, false), machine_for_test("mi300x-8"));
  EXPECT_EQ(shape(host_of(program, RankId{0})), "WSWTsWSWT");  // collects, lets go, goes, ...
  EXPECT_EQ(shape(host_of(program, RankId{3})), "SWTsWSWT");   // arrives, is let go, ..., arrives, is let go
}

// All leave the barrier at the same instant, so that programs of ranks that do the same stay in step.
TEST(Host, EveryRankWaitsForTheSameSignalToGo) {
  const Program program = plan_for_test(request(HostThreads::per_rank, false), machine_for_test("mi300x-8"));
  const auto last_wait = [&](std::uint32_t rank) {
    std::optional<SignalId> signal;
    for (const Command& command : host_of(program, RankId{rank}).commands) {
      if (const auto* wait = std::get_if<Wait>(&command)) signal = wait->signal;
    }
    return signal;
  };
  for (std::uint32_t rank = 1; rank < 4; ++rank) EXPECT_EQ(last_wait(rank), last_wait(0));
}

TEST(Host, PerRankPrelaunchSubmitsBeforeTheBarrierAndTriggersItsOwnQueues) {
  const Program program = plan_for_test(request(HostThreads::per_rank, true), machine_for_test("mi300x-8"));
  EXPECT_EQ(shape(host_of(program, RankId{3})), "sSWTtWSWT");
  EXPECT_EQ(count(program).triggers, 4u);
}

TEST(Host, SubmitsQueuesRankByRank) {
  CollectiveRequest asked{.collective = "all-reduce", .bytes = 4_KiB, .ranks = 4};
  const Program program = plan_for_test(asked, machine_for_test("mi300x-8"));
  std::uint32_t last = 0;
  for (const auto& [queue, submit] : commands_on<Submit>(program, QueueKind::host)) {
    const std::uint32_t rank = program.queue(submit.queue).rank->value;
    EXPECT_GE(rank, last);
    last = rank;
  }
}

/// With a runtime, every queue of an engine first waits at the gate of its GPU, and the host waits for one signal per
/// GPU.
TEST(Host, RuntimesHoldTheEnginesAtAGate) {
  const Machine machine = machine_for_test("mi300x-8");
  for (const RuntimeMode mode : {RuntimeMode::runtime, RuntimeMode::library, RuntimeMode::device}) {
    for (const char* variant : {"pcpy", "b2b"}) {
      const Program program = plan_for_test(
          {.collective = "all-gather", .variant = variant, .bytes = 64_KiB, .in_place = true, .runtime = mode},
          machine);
      EXPECT_TRUE(verify(program, machine)) << variant;
      for (const Queue& queue : program.queues) {
        if (queue.kind != QueueKind::dma || queue.name.starts_with("coordinator")) continue;
        EXPECT_TRUE(std::holds_alternative<Wait>(queue.commands.front())) << queue.name;
      }
    }
  }
  EXPECT_EQ(
      refusal({.collective = "all-gather", .bytes = 1_KiB, .prelaunch = true, .runtime = RuntimeMode::runtime}, machine)
          .code,
      "plan.runtime");
}

/// ROCr's batches: below 1 MiB per copy, one queue per GPU; above, one per engine with a coordinator that the kernel
/// waits for.
TEST(Host, LibrariesOnEnginesSendBatches) {
  const Machine machine = machine_for_test("mi355x-8");
  const auto queues_of = [&](Collective collective, Bytes bytes, RuntimeMode mode, const char* prefix) {
    const Program program = plan_for_test({.collective = collective,
                                           .variant = std::string(kLibraryVariant),
                                           .bytes = bytes,
                                           .in_place = collective == "all-gather",
                                           .runtime = mode},
                                          machine);
    EXPECT_TRUE(verify(program, machine)) << bytes.value;
    std::size_t count = 0;
    for (const Queue& queue : program.queues) count += queue.name.starts_with(prefix) ? 1U : 0U;
    return count;
  };
  for (const Collective collective : {Collective("all-gather"), Collective("all-to-all")}) {
    EXPECT_EQ(queues_of(collective, 4_MiB, RuntimeMode::library, "coordinator"), 0U);
    EXPECT_EQ(queues_of(collective, 8_MiB, RuntimeMode::library, "coordinator"), 8U);
    EXPECT_EQ(queues_of(collective, 4_MiB, RuntimeMode::device, "coordinator"), 0U);
  }
  EXPECT_EQ(queues_of("all-gather", 4_MiB, RuntimeMode::library, "dma"), 8U);
  EXPECT_EQ(queues_of("all-gather", 8_MiB, RuntimeMode::library, "dma"), 56U);
  EXPECT_EQ(queues_of("all-gather", 4_MiB, RuntimeMode::device, "dma"), 56U);
  // No other runtime is known to have them.
  const Machine h100 = machine_for_test("h100-8");
  const Program program = plan_for_test({.collective = "all-gather",
                                         .variant = std::string(kLibraryVariant),
                                         .bytes = 64_KiB,
                                         .in_place = true,
                                         .runtime = RuntimeMode::library},
                                        h100);
  for (const Queue& queue : program.queues) EXPECT_FALSE(queue.name.starts_with("coordinator"));
}

TEST(Host, EverySignalHasOneWriter) {
  for (const HostThreads host : {HostThreads::single, HostThreads::per_rank}) {
    for (const VariantInfo& variant : list_variants()) {
      const bool library = variant.of_library || variant.variant == kLibraryVariant;
      const Program program = plan_for_test({.collective = variant.collective,
                                             .variant = variant.variant,
                                             .bytes = 64_KiB,
                                             .ranks = 4,
                                             .prelaunch = !variant.on_cores,
                                             .in_place = variant.in_place,
                                             .host = host},
                                            machine_for_test(library ? "h100-8" : "virtual-64-nmc"));
      for (const std::uint64_t advance : signal_advances(program)) EXPECT_EQ(advance, 1u);
    }
  }
}

}  // namespace host_test
}  // namespace cortado::plan
