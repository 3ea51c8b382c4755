// What tracing records.
#include <algorithm>

#include <gtest/gtest.h>

#include "device/executor/testing.hpp"

namespace cortado::device {
namespace trace_test {

using namespace testing;  // NOLINT(google-build-using-namespace): the helpers of these tests

Timeline traced(const Program& program, std::uint32_t iterations) {
  const Machine machine = machine_with_ring(1_KiB);
  const auto node = soft_node(machine, 4);
  auto prepared = PreparedProgram::prepare(verified(program, machine), *node, {.trace = true});
  EXPECT_TRUE(prepared);
  const auto result = prepared->run({.iterations = iterations, .check = CheckOutputs::every});
  EXPECT_TRUE(result) << to_string(result.error());
  EXPECT_EQ(result->wrong_bytes, 0U);
  return result->timeline;
}

std::vector<std::string> flows_of(const Timeline& timeline, std::uint32_t iteration) {
  std::vector<std::string> flows;
  for (const Flow& flow : timeline.flows) {
    const Span& from = timeline.spans[flow.from_span];
    const Span& to = timeline.spans[flow.to_span];
    if (to.iteration == iteration) flows.push_back(from.name + " => " + to.name);
  }
  std::sort(flows.begin(), flows.end());
  return flows;
}

TEST(Trace, HasASpanForEveryCommandOfEveryQueue) {
  const Program program = prelaunched_copy();
  const Timeline timeline = traced(program, 3);
  ASSERT_EQ(timeline.tracks.size(), 2U);
  EXPECT_EQ(timeline.tracks[0].name, "host");
  EXPECT_EQ(timeline.tracks[1].rank, RankId{0});
  // 5 commands of the host, 3 of the dma queue, 3 iterations.
  ASSERT_EQ(timeline.spans.size(), 24U);
  std::vector<const Span*> last(2, nullptr);
  for (const Span& span : timeline.spans) {
    EXPECT_LE(span.start, span.end);
    const Span* before = last[span.track];
    if (before != nullptr) {
      EXPECT_LE(before->end, span.start) << before->name << " and " << span.name << " of one queue overlap";
    }
    last[span.track] = &span;
  }
  const Span& copy = timeline.spans[16];
  EXPECT_EQ(copy.name, "copy in[0+512] -> out[0+512]");
  EXPECT_EQ(copy.kind, SpanKind::copy);
  EXPECT_EQ(copy.bytes, 512_B);
  EXPECT_EQ(copy.command, 1U);
  EXPECT_EQ(timeline.spans[1].kind, SpanKind::mark);
  EXPECT_EQ(timeline.spans[1].start, timeline.spans[1].end);
}

TEST(Trace, ConnectsSubmitsAndSignalsWithWhatTheyReleased) {
  const Timeline timeline = traced(prelaunched_copy(), 3);
  for (std::uint32_t iteration = 0; iteration < 3; ++iteration) {
    EXPECT_EQ(flows_of(timeline, iteration),
              (std::vector<std::string>{"signal done = 3 => wait done == 3", "submit dma => wait go >= 1",
                                        "trigger go += 1 => wait go >= 1"}));
  }
}

TEST(Trace, ConnectsTheLastOfManySignals) {
  const Timeline timeline = traced(copy_chain(), 1);
  std::int64_t latest = -1;
  for (const Span& span : timeline.spans) {
    if (span.name == "signal done += 1") latest = std::max(latest, span.end.value);
  }
  bool found = false;
  for (const Flow& flow : timeline.flows) {
    if (timeline.spans[flow.to_span].name != "wait done >= 2") continue;
    found = true;
    EXPECT_EQ(timeline.spans[flow.from_span].end.value, latest);
  }
  EXPECT_TRUE(found);
}

TEST(Trace, KeepsTheLastIterationsOnly) {
  const Program program = prelaunched_copy();
  const Timeline timeline = traced(program, 100);
  EXPECT_EQ(timeline.iteration_times.size(), 100U);
  // 16 iterations of 8 commands.
  ASSERT_EQ(timeline.spans.size(), 128U);
  for (const Span& span : timeline.spans) {
    EXPECT_GE(span.iteration, 84U);
    EXPECT_GE(span.start.value, 0);
  }
}

TEST(Trace, CoversComputeQueues) {
  const Timeline timeline = traced(summed_inputs(DType::f32), 2);
  const auto kernel = std::find_if(timeline.spans.begin(), timeline.spans.end(),
                                   [](const Span& span) { return span.kind == SpanKind::kernel; });
  ASSERT_NE(kernel, timeline.spans.end());
  EXPECT_EQ(timeline.tracks[kernel->track].name, "compute");
}

TEST(Trace, OfHostsOnlyIterationTimesRemainWithoutTracing) {
  const Machine machine = machine_with_ring();
  const auto node = soft_node(machine, 3);
  auto prepared = PreparedProgram::prepare(verified(copy_chain(), machine), *node);
  ASSERT_TRUE(prepared);
  const auto result = prepared->run({.iterations = 7});
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->timeline.spans.empty());
  EXPECT_EQ(result->timeline.iteration_times.size(), 7U);
}

}  // namespace trace_test
}  // namespace cortado::device
