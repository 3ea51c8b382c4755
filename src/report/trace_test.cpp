#include <cmath>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cortado/program.hpp"
#include "cortado/report.hpp"

#include "report/energy_testing.hpp"

namespace cortado::report {
namespace trace_test {

using Json = nlohmann::json;

/// A host that submits at 0 and waits till 500, and one DMA queue: a copy 100..300, a signal 300..300 (no time at all).
struct Sample {
  Program program;
  Timeline timeline;
};

Sample sample() {
  ProgramBuilder builder("sample", "mi300x-8", 1);
  const BufferId buffer = builder.buffer("b", RankId{0}, {8192}, BufferRole::scratch);
  const SignalId done = builder.signal("done");
  const QueueId dma = builder.dma_queue("dma0.14", RankId{0}, EngineId{14});
  const QueueId host = builder.host_queue("host");
  builder.add(dma, Copy{make_region(buffer, {0}, {4096}), make_region(buffer, {4096}, {4096})}).add(dma, Signal{done});
  builder.add(host, Submit{dma}).add(host, Wait{done});
  Sample result{std::move(builder).finish(), {}};
  Timeline& timeline = result.timeline;
  timeline.where = "embedded node";
  timeline.tracks = {{"dma0.14", RankId{0}, false}, {"host", {}, true}};
  timeline.spans = {{0, "copy", SpanKind::copy, {100}, {300}, {4096}, 0, 0},
                    {0, "signal", SpanKind::signal, {300}, {300}, {}, 0, 1},
                    {1, "submit", SpanKind::host, {0}, {50}, {}, 0, 0},
                    {1, "wait", SpanKind::wait, {50}, {500}, {}, 0, 1},
                    {1, "end", SpanKind::mark, {500}, {500}, {}, 0, 1}};
  timeline.flows = {{1, 3}};
  timeline.counters = {{"power", "W", {{{10}, 100.5}, {{200}, 200.25}}}};
  return result;
}

std::vector<Json> events(const Json& document, const std::string& phase) {
  std::vector<Json> found;
  for (const Json& event : document["traceEvents"]) {
    if (event["ph"] == phase) found.push_back(event);
  }
  return found;
}

/// Trace times are microseconds with three decimals: whole nanoseconds again.
std::int64_t nanoseconds(const Json& time) {
  return std::llround(time.get<double>() * 1e3);
}

/// The slice a flow end is bound to: the one of its thread with start <= time < end.
Json slice_at(const Json& document, const Json& flow) {
  Json found;
  for (const Json& slice : events(document, "X")) {
    const std::int64_t start = nanoseconds(slice["ts"]);
    const std::int64_t end = start + nanoseconds(slice["dur"]);
    const std::int64_t time = nanoseconds(flow["ts"]);
    if (slice["tid"] == flow["tid"] && slice["pid"] == flow["pid"] && start <= time && time < end) {
      EXPECT_TRUE(found.is_null()) << "two slices of one thread stand at one time";
      found = slice;
    }
  }
  return found;
}

TEST(Trace, SlicesCarryTimeCategoryAndArguments) {
  const Sample given = sample();
  const Json document = Json::parse(perfetto_trace(given.timeline, given.program));
  const std::vector<Json> slices = events(document, "X");
  ASSERT_EQ(slices.size(), 4U);
  const Json& copy = slices[2];  // by time: submit 0, wait 50, copy 100, signal 300
  EXPECT_EQ(copy["name"], "copy");
  EXPECT_EQ(copy["cat"], "communication");
  EXPECT_DOUBLE_EQ(copy["ts"], 0.1);   // 100 ns
  EXPECT_DOUBLE_EQ(copy["dur"], 0.2);  // 200 ns
  EXPECT_EQ(copy["args"]["bytes"], 4096);
  EXPECT_EQ(copy["args"]["iteration"], 0);
  EXPECT_DOUBLE_EQ(copy["args"]["GB/s"], 20.48);  // 4096 B / 200 ns
  EXPECT_THAT(copy["args"]["command"].get<std::string>(), testing::StartsWith("0: copy"));
  EXPECT_EQ(events(document, "i").size(), 1U);
}

TEST(Trace, ArrowsStartAndEndInsideTheirSlices) {
  const Sample given = sample();
  const Json document = Json::parse(perfetto_trace(given.timeline, given.program));
  ASSERT_EQ(events(document, "s").size(), 1U);
  ASSERT_EQ(events(document, "f").size(), 1U);
  const Json start = events(document, "s")[0];
  const Json finish = events(document, "f")[0];
  EXPECT_EQ(start["id"], finish["id"]);
  EXPECT_EQ(finish["bp"], "e");
  EXPECT_EQ(slice_at(document, start)["name"], "signal");
  EXPECT_EQ(slice_at(document, finish)["name"], "wait");
  EXPECT_LE(start["ts"], finish["ts"]);
}

TEST(Trace, AnArrowBackInTimeIsCountedNotDrawn) {
  Sample given = sample();
  given.timeline.spans[3].end = {200};  // the wait is over before the signal at 300
  const Json document = Json::parse(perfetto_trace(given.timeline, given.program));
  EXPECT_TRUE(events(document, "s").empty());
  EXPECT_TRUE(events(document, "f").empty());
  EXPECT_EQ(document["otherData"]["undrawn_arrows"], 1);
}

TEST(Trace, EventsAreSortedByTime) {
  const Sample given = sample();
  const Json document = Json::parse(perfetto_trace(given.timeline, given.program));
  double last = -1;
  for (const Json& event : document["traceEvents"]) {
    if (event["ph"] == "M") continue;
    EXPECT_LE(last, event["ts"].get<double>());
    last = event["ts"];
  }
}

TEST(Trace, ProcessesAndThreadsAreNamedAndSorted) {
  const Sample given = sample();
  const Json document = Json::parse(perfetto_trace(given.timeline, given.program));
  std::map<std::string, int> names;
  for (const Json& event : events(document, "M")) {
    if (event["name"] == "process_name" || event["name"] == "thread_name") ++names[event["args"]["name"]];
  }
  EXPECT_EQ(names, (std::map<std::string, int>{{"host", 2}, {"rank 0", 1}, {"dma0.14", 1}}));
  EXPECT_EQ(document["otherData"]["times"], "measured");
  EXPECT_EQ(document["otherData"]["where"], "embedded node");
}

TEST(Trace, OverlappingCopiesGetThreadsOfTheirOwn) {
  Sample given = sample();
  // A second copy 200..400 crosses the first one (100..300), and a third 400..450 fits after the second again.
  given.timeline.spans.push_back({0, "copy", SpanKind::copy, {200}, {400}, {4096}, 0, 0});
  given.timeline.spans.push_back({0, "copy", SpanKind::copy, {450}, {480}, {4096}, 0, 0});
  const Json document = Json::parse(perfetto_trace(given.timeline, given.program));
  std::map<std::pair<int, int>, std::int64_t> end_of_thread;
  for (const Json& slice : events(document, "X")) {
    std::int64_t& end = end_of_thread[{slice["pid"], slice["tid"]}];
    EXPECT_GE(nanoseconds(slice["ts"]), end);
    end = nanoseconds(slice["ts"]) + nanoseconds(slice["dur"]);
  }
  EXPECT_EQ(end_of_thread.size(), 3U);  // two lanes of the DMA queue and the host
}

TEST(Trace, CountersAreSamples) {
  const Sample given = sample();
  const Json document = Json::parse(perfetto_trace(given.timeline, given.program));
  const std::vector<Json> counters = events(document, "C");
  ASSERT_EQ(counters.size(), 2U);
  EXPECT_EQ(counters[1]["name"], "power (W)");
  EXPECT_DOUBLE_EQ(counters[1]["args"]["W"], 200.25);
}

TEST(Trace, CountersOfARankStandInItsProcess) {
  Sample given = sample();
  given.timeline.counters = {{"xcd", "W", {{{10}, 100}}, RankId{0}}, {"xcd", "W", {{{10}, 90}}, RankId{1}}};
  given.timeline.energy = small_energy_use();
  const Json document = Json::parse(perfetto_trace(given.timeline, given.program));
  std::map<int, std::string> processes;
  for (const Json& event : events(document, "M")) {
    if (event["name"] == "process_name") processes[event["pid"]] = event["args"]["name"];
  }
  std::map<std::string, double> watts;
  for (const Json& event : events(document, "C")) {
    EXPECT_EQ(event["name"], "xcd (W)");
    watts[processes.at(event["pid"])] = event["args"]["W"];
  }
  // Rank 1 has no queue: its process is there for its counter.
  EXPECT_EQ(watts, (std::map<std::string, double>{{"rank 0", 100}, {"rank 1", 90}}));
  EXPECT_NEAR(document["otherData"]["energy_J"].get<double>(), 0.3, 1e-12);
}

TEST(Trace, AnEmptyTimelineIsStillATrace) {
  const Json document = Json::parse(perfetto_trace({}, {}));
  EXPECT_TRUE(document["traceEvents"].empty());
}

}  // namespace trace_test
}  // namespace cortado::report
