// Copies between host memory and GPUs, with times by hand from machines/mi300x-8.toml.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "cortado/machine.hpp"
#include "cortado/program.hpp"
#include "cortado/target.hpp"

#include "plan/kv.hpp"
#include "sim/gpu/simulate.hpp"

namespace cortado::sim::host_memory_test {

const Machine& mi300x() {
  static const Machine machine = load_machine("mi300x-8").value();
  return machine;
}

constexpr std::uint64_t kBytes = 55'000'000;  // a millisecond of the link

struct Copies {
  std::uint64_t number = 1;
  Bytes bytes{kBytes};
  EngineId engine{0};
  bool to_gpu = true;
  Submission submission = Submission::ring;
};

/// The copies of each entry in a separate queue, all on GPU 0.
Program program_of(const std::vector<Copies>& queues) {
  ProgramBuilder builder("host copies", "mi300x-8", 1);
  std::vector<QueueId> ids;
  std::vector<SignalId> done;
  Contract contract;
  contract.name = "copies";
  for (const Copies& copies : queues) {
    const std::string name = std::to_string(ids.size());
    const Bytes all = copies.bytes * copies.number;
    const BufferId host =
        builder.host_buffer("host" + name, RankId{0}, 0, all, copies.to_gpu ? BufferRole::input : BufferRole::output);
    const BufferId gpu =
        builder.buffer("gpu" + name, RankId{0}, all, copies.to_gpu ? BufferRole::output : BufferRole::input);
    ids.push_back(builder.dma_queue("queue" + name, RankId{0}, copies.engine));
    builder.submission(ids.back(), copies.submission);
    done.push_back(builder.signal("done" + name));
    for (std::uint64_t i = 0; i < copies.number; ++i) {
      const Region there = make_region(host, copies.bytes * i, copies.bytes);
      const Region here = make_region(gpu, copies.bytes * i, copies.bytes);
      const Copy copy{copies.to_gpu ? there : here, copies.to_gpu ? here : there};
      builder.add(ids.back(), copy);
      contract.clauses.push_back({copy.dst, {copy.src}});
    }
    builder.add(ids.back(), Signal{done.back()});
  }
  const QueueId caller = builder.host_queue("host", RankId{0});
  for (const QueueId id : ids) builder.add(caller, Submit{id});
  for (const SignalId signal : done) builder.add(caller, Wait{signal});
  builder.contract(std::move(contract));
  return std::move(builder).finish();
}

std::int64_t time_of(const std::vector<Copies>& queues, const Machine& machine = mi300x()) {
  const auto proved = verify(program_of(queues), machine);
  EXPECT_TRUE(proved.has_value());
  if (!proved) return 0;
  const auto simulated = simulate(*proved, {});
  EXPECT_TRUE(simulated.has_value());
  return simulated ? simulated->timeline.iteration_times.front().value : 0;
}

constexpr std::int64_t kSubmit = 642;
constexpr std::int64_t kPacket = 45;
constexpr std::int64_t kFetch = 1857;
constexpr std::int64_t kStart = 1691;
constexpr std::int64_t kSync = 2116;
constexpr std::int64_t kPoll = 20;
constexpr std::int64_t kWake = 2894;

TEST(HostMemory, IsReadAtTheRateOfTheLink) {
  EXPECT_EQ(time_of({{}}), kSubmit + 2 * kPacket + kFetch + kStart + 1'000'000 + kSync + kPoll);
}

/// 20 GB/s from engine 8, 55 to it.
TEST(HostMemory, IsWrittenSlowlyBySomeEngines) {
  const std::int64_t rest = kSubmit + 2 * kPacket + kFetch + kStart + kSync + kPoll;
  EXPECT_EQ(time_of({{.engine = EngineId{8}, .to_gpu = false}}), rest + 2'750'000);
  EXPECT_EQ(time_of({{.engine = EngineId{8}}}), rest + 1'000'000);
}

/// 110 MB at 100 GB/s of both directions; the second queue begins a submission later.
TEST(HostMemory, HasLessForEachDirectionOfTwo) {
  const std::int64_t both = time_of({{}, {.engine = EngineId{1}, .to_gpu = false}});
  EXPECT_NEAR(static_cast<double>(both), 1'100'000 + 7'000, 1'000);
}

/// 9100 ns and 41 GB/s each, one after another, from the first call on; then the host polls.
TEST(HostMemory, IsReadByCallsOneAfterAnother) {
  const std::int64_t copy = 9100 + 1000;
  EXPECT_EQ(time_of({{.number = 3, .bytes = Bytes{41'000}, .submission = Submission::calls}}), 5000 + 3 * copy + kPoll);
}

/// Small copies by shader: 5380 ns each, longer than the 5000 of a call.
TEST(HostMemory, IsReadByShadersInSmallCopies) {
  EXPECT_EQ(time_of({{.number = 4, .bytes = Bytes{8200}, .submission = Submission::calls}}),
            5000 + 4 * (5380 + 200) + kPoll);
}

/// Descriptors are handed over one by one, or two at a time; a copy takes longer than both.
TEST(HostMemory, IsReadByBatchesOnceTheyAreHandedOver) {
  const std::int64_t copy = 9100 + 1000;
  const std::vector<Copies> three{{.number = 3, .bytes = Bytes{41'000}, .submission = Submission::batch}};
  EXPECT_EQ(time_of(three), 2400 + 3 * copy + kSync + kPoll);
  Machine machine = mi300x();
  machine.timing->runtime->batch = 2;
  EXPECT_EQ(time_of(three, machine), 2 * 2400 + 3 * copy + kSync + kPoll);
}

/// Below small_batch_bytes, and only to the GPU, 4100 bytes take 1025 ns at 4 GB/s. The first `batch` copies move while
/// others are listed, the rest in turns with that.
TEST(HostMemory, IsReadSlowlyByBatchesOfSmallCopies) {
  Machine machine = mi300x();
  machine.timing->runtime->small_batch_bytes = Bytes{4200};
  machine.timing->runtime->small_batch_rate = GBps{4};
  const auto three = [](std::uint64_t bytes, bool to_gpu) {
    return std::vector<Copies>{{.number = 3, .bytes = Bytes{bytes}, .to_gpu = to_gpu, .submission = Submission::batch}};
  };
  EXPECT_EQ(time_of(three(4100, true), machine), 3 * (2400 + 1025) + kSync + kPoll);
  machine.timing->runtime->batch = 2;
  EXPECT_EQ(time_of(three(4100, true), machine), 2 * 2400 + 1025 + 2400 + 1025 + kSync + kPoll);
  machine.timing->runtime->batch = 8;
  EXPECT_EQ(time_of(three(4100, true), machine), 3 * 2400 + 1025 + kSync + kPoll);
  machine.timing->runtime->batch = 1;
  for (const bool to_gpu : {true, false}) {
    EXPECT_EQ(time_of(three(4200, to_gpu), machine), time_of(three(4200, to_gpu)));
  }
  EXPECT_EQ(time_of(three(4100, false), machine), time_of(three(4100, false)));
}

/// Six copies of 4100 ns in one call, of which the first three are listed ahead; or in two calls on one stream. The
/// host hands the second call over before the first has ended, so its copies move back to back: two share the 55 GB/s
/// of the link for 149 ns, the third has 41 GB/s.
TEST(HostMemory, IsReadFastByBatchesBehindOthers) {
  Machine machine = mi300x();
  RuntimeTiming& runtime = *machine.timing->runtime;
  runtime.small_batch_bytes = Bytes{20'000};
  runtime.small_batch_rate = GBps{1};
  runtime.shader_batch_copy = {};
  runtime.batch = 3;
  const auto time_by_calls_of = [&](std::uint64_t copies) {
    const plan::KvRequest request{.blocks = 6, .fragment = Bytes{4100}, .call = copies};
    const auto program = plan::find_kv_strategy("batch").value().strategy->plan(request, machine);
    EXPECT_TRUE(program.has_value());
    const auto proved = verify(*program, machine);
    EXPECT_TRUE(proved.has_value());
    return simulate(*proved, {})->timeline.iteration_times.front().value;
  };
  const std::int64_t first = 2400 + 3 * 4100;
  EXPECT_EQ(time_by_calls_of(6), first + 3 * (2400 + 4100) + kSync + kPoll);
  EXPECT_EQ(time_by_calls_of(3), first + kSync + kWake + kStart + 149 + 100 + kSync + kPoll);
}

TEST(HostMemory, NeedsAMachineThatSaysWhatItsLinksDo) {
  Machine machine = mi300x();
  machine.timing->host_link.reset();
  const auto proved = verify(program_of({{}}), machine);
  ASSERT_TRUE(proved.has_value());
  EXPECT_EQ(simulate(*proved, {}).error().code, "sim.host_link");
  machine = mi300x();
  machine.timing->runtime.reset();
  const auto called = verify(program_of({{.submission = Submission::calls}}), machine);
  ASSERT_TRUE(called.has_value());
  EXPECT_EQ(simulate(*called, {}).error().code, "sim.runtime");
}

}  // namespace cortado::sim::host_memory_test
