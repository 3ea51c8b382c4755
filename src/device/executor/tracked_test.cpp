// Programs with trackers: fused GEMMs and ring reduce-scatters, what nodes reject, and how missing updates are
// reported.
#include <chrono>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cortado/program.hpp"

#include "device/executor/tracked_testing.hpp"

namespace cortado::device {
namespace tracked_test {

using namespace testing;  // NOLINT(google-build-using-namespace): the helpers of these tests
using ::testing::HasSubstr;

/// For programs that the verifier rejects.
const std::vector<std::string> kUnproved{"verify.tracker", "verify.deadlock", "verify.equal_wait", "verify.race",
                                         "verify.contract"};

Machine adding_machine() {
  return machine_with_ring(64_KiB, "mi300x-8+t3");
}

RunResult run_well(const Program& program, const Machine& machine, Driver& node, RunOptions options = {}) {
  const VerifiedProgram proved = verified(program, machine);
  auto prepared = PreparedProgram::prepare(proved, node);
  EXPECT_TRUE(prepared) << (prepared ? "" : to_string(prepared.error()));
  if (!prepared) return {};
  options.check = CheckOutputs::every;
  const auto result = prepared->run(options);
  EXPECT_TRUE(result) << (result ? "" : to_string(result.error()));
  if (!result) return {};
  EXPECT_EQ(result->wrong_bytes, 0U) << (result->first_wrong ? to_string(*result->first_wrong) : "");
  EXPECT_GT(result->checked_bytes, 0U);
  return *result;
}

TEST(Tracked, AFusedRingIsExactInAnyOrder) {
  const Machine machine = adding_machine();
  for (const std::uint32_t ranks : {2U, 3U, 4U}) {
    const auto plain = soft_node(machine, ranks);
    for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
      for (const std::uint64_t split_k : {1U, 2U, 3U}) {
        SCOPED_TRACE(fmt::format("{} ranks, {}, split_k {}", ranks, to_string(dtype), split_k));
        const Program program = ring_product({.ranks = ranks, .dtype = dtype, .split_k = split_k});
        run_well(program, machine, *plain, {.iterations = 8, .seed = ranks + split_k});
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
          const auto adversarial = adversarial_node(machine, ranks, seed);
          run_well(program, machine, *adversarial, {.iterations = 3, .seed = seed, .adversarial_seed = seed});
        }
      }
    }
  }
}

TEST(Tracked, LargeProductsRunOnSeveralThreads) {
  const Machine machine = adding_machine();
  SoftOptions options;
  options.workers = 3;
  const auto node = soft_node(machine, 4, options);
  const RunResult result =
      run_well(ring_product({.split_k = 2, .chunk_rows = 64, .n = 256, .k = 32}), machine, *node, {.iterations = 10});
  // A chunk has 64 x 256 x 4 bytes, an entry watches twice as many. A rank tracks three chunks.
  EXPECT_GE(result.tracker_entries_peak, 1U);
  EXPECT_LE(result.tracker_entries_peak, 3U);
}

TEST(Tracked, NodesWithoutTrackersOrAddingMemoryRefuse) {
  Machine machine = adding_machine();
  const VerifiedProgram program = verified(ring_product({}), machine);
  machine.features.tracker.reset();
  const auto refused = PreparedProgram::prepare(program, *soft_node(machine, 4));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "device.tracker");
  EXPECT_THAT(refused.error().message, HasSubstr("the program has 12 trackers, the first is chunk2.r0"));
  machine.features.near_memory_compute = false;
  Program store_only = ring_product({.ranks = 2});  // no copy: only the GEMMs add
  EXPECT_EQ(PreparedProgram::prepare(verified(store_only, adding_machine()), *soft_node(machine, 4)).error().code,
            "device.near_memory_compute");
}

TEST(Tracked, ATrackerThatNeedsTooManyEntriesIsNamed) {
  Machine machine = adding_machine();
  machine.features.tracker = TrackerLimits{2, Bytes{64}};  // a chunk has 8 x 12 x 4 bytes: 6 entries
  const auto refused = PreparedProgram::prepare(verified(ring_product({}), adding_machine()), *soft_node(machine, 4));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "device.tracker");
  EXPECT_EQ(refused.error().place.rank, RankId{0});
  EXPECT_THAT(refused.error().message, HasSubstr("tracker chunk2.r0: the tracker needs 6 entries for 384 bytes"));
}

TEST(Tracked, ALostUpdateIsReportedWithTheTracker) {
  const Machine machine = adding_machine();
  const auto node = soft_node(machine, 3);
  auto prepared =
      PreparedProgram::prepare(verified(ring_product({.ranks = 3, .missing = 1}), machine, kUnproved), *node);
  ASSERT_TRUE(prepared);
  const auto result = prepared->run({.timeout = std::chrono::milliseconds(50)});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, "device.timeout");
  // Chunk 1 is rank 0's second: its own stores and those of rank 2 have arrived, the third update has not.
  EXPECT_THAT(result.error().message,
              HasSubstr("queue dma0, command 0 (wait ready0.1 >= 1) needs ready0.1 >= 1, is 0, raised by tracker "
                        "chunk1.r0 (0 of 384 bytes have had 3 updates, the fewest had 2)"));
}

TEST(Tracked, OneUpdateTooManyIsAFaultWithTheTracker) {
  const Machine machine = adding_machine();
  Program program = ring_product({.ranks = 3});
  // Rank 0 sends the upper half of its chunk twice.
  for (Queue& queue : program.queues) {
    if (queue.name != "dma0") continue;
    Copy half = std::get<Copy>(queue.commands[1]);
    half.src.width = half.dst.width = Bytes{half.src.width.value / 2};
    queue.commands.insert(queue.commands.begin() + 1, half);
  }
  const auto node = soft_node(machine, 3);
  auto prepared = PreparedProgram::prepare(verified(program, machine, kUnproved), *node);
  ASSERT_TRUE(prepared);
  const auto result = prepared->run({.timeout = std::chrono::milliseconds(50)});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, "device.fault");
  EXPECT_THAT(result.error().message, HasSubstr("one update too many"));
  EXPECT_THAT(result.error().message, HasSubstr(", tracker chunk1.r1)"));
}

TEST(Tracked, AFaultOfAProductIsReported) {
  const Machine machine = adding_machine();
  Program program = ring_product({.ranks = 2});
  program.trackers.pop_back();  // rank 1 keeps its chunk and rank 0 adds to it: nothing counts the updates
  const auto node = soft_node(machine, 2);
  auto prepared = PreparedProgram::prepare(verified(program, machine, kUnproved), *node);
  ASSERT_TRUE(prepared);
  const auto result = prepared->run({.timeout = std::chrono::milliseconds(50)});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, "device.fault");
  EXPECT_THAT(result.error().place.queue, HasSubstr("compute"));
  EXPECT_THAT(result.error().message, HasSubstr("tracker: compute queue: the product adds to bytes without a tracker"));
}

TEST(Tracked, TracesShowWhoReleasedTheWaits) {
  const Machine machine = adding_machine();
  const auto node = soft_node(machine, 3);
  auto prepared = PreparedProgram::prepare(verified(ring_product({.ranks = 3}), machine), *node, {.trace = true});
  ASSERT_TRUE(prepared);
  const auto result = prepared->run({.iterations = 2, .check = CheckOutputs::every});
  ASSERT_TRUE(result) << to_string(result.error());
  EXPECT_EQ(result->wrong_bytes, 0U);
  // In each iteration every dma queue has one wait for a tracker and every host another.
  std::uint32_t released = 0;
  for (const Flow& flow : result->timeline.flows) {
    const Span& from = result->timeline.spans[flow.from_span];
    const Span& to = result->timeline.spans[flow.to_span];
    if (to.kind != SpanKind::wait || (from.kind != SpanKind::kernel && from.kind != SpanKind::copy)) continue;
    ++released;
    EXPECT_EQ(from.iteration, to.iteration);
  }
  EXPECT_EQ(released, 2U * 6U);
}

}  // namespace tracked_test
}  // namespace cortado::device
