#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "cortado/program.hpp"
#include "cortado/report.hpp"

#include "base/json.hpp"
#include "report/energy.hpp"

namespace cortado::report {
namespace {

constexpr std::uint32_t kHostProcess = 1;

std::uint32_t process_of(const std::optional<RankId>& rank) {
  return rank ? rank->value + 2 : kHostProcess;
}

std::uint32_t process_of(const Track& track) {
  return process_of(track.rank);
}

/// Where a span is drawn. Slices of one thread never overlap and are at least 1 ns long, so that the end of an arrow,
/// which attaches to whatever slice is at its time, always finds the right one.
struct Slice {
  std::uint32_t thread = 0;
  std::int64_t start = 0;
  std::int64_t end = 0;
};

struct Thread {
  std::uint32_t track = 0;
  std::uint32_t lane = 0;  ///< 0, or a higher one for spans that overlap
  std::int64_t true_end = std::numeric_limits<std::int64_t>::min();
  std::int64_t drawn_end = std::numeric_limits<std::int64_t>::min();
};

struct Layout {
  std::vector<Thread> threads;
  std::vector<Slice> slices;  ///< by span
};

Layout lay_out(const Timeline& timeline) {
  Layout layout;
  std::vector<std::vector<std::uint32_t>> lanes(timeline.tracks.size());
  const auto add_lane = [&](std::uint32_t track) {
    lanes[track].push_back(static_cast<std::uint32_t>(layout.threads.size()));
    layout.threads.push_back({track, static_cast<std::uint32_t>(lanes[track].size() - 1)});
  };
  for (std::uint32_t track = 0; track < timeline.tracks.size(); ++track) add_lane(track);

  std::vector<std::uint32_t> order(timeline.spans.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return timeline.spans[a].start < timeline.spans[b].start; });
  layout.slices.resize(timeline.spans.size());
  for (const std::uint32_t index : order) {
    const Span& span = timeline.spans[index];
    std::optional<std::uint32_t> chosen;
    for (const std::uint32_t thread : lanes[span.track]) {
      if (layout.threads[thread].true_end <= span.start.value) {
        chosen = thread;
        break;
      }
    }
    if (!chosen) {
      add_lane(span.track);
      chosen = lanes[span.track].back();
    }
    Thread& thread = layout.threads[*chosen];
    Slice& slice = layout.slices[index];
    slice.thread = *chosen;
    slice.start = std::max(span.start.value, thread.drawn_end);
    slice.end = std::max(span.end.value, slice.start + 1);
    thread.true_end = span.end.value;
    if (span.kind != SpanKind::mark) thread.drawn_end = slice.end;
  }
  return layout;
}

std::string_view category(SpanKind kind) {
  switch (kind) {
    case SpanKind::copy:
      return "communication";
    case SpanKind::wait:
      return "wait";
    case SpanKind::signal:
      return "synchronization";
    case SpanKind::kernel:
      return "compute";
    case SpanKind::host:
      return "host";
    case SpanKind::mark:
      return "mark";
  }
  return "other";
}

/// Trace times are microseconds; three decimals are exact nanoseconds.
double trace_time(std::int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1e3;
}

/// An event, with what determines its position in the file.
struct Event {
  std::int64_t time;
  Json json;
};

class TraceWriter {
 public:
  TraceWriter(const Timeline& timeline, const Program& program)
      : timeline_(timeline), program_(program), layout_(lay_out(timeline)) {
    for (const Queue& queue : program.queues) queues_.emplace(queue.name, &queue);
  }

  std::string write() {
    add_names();
    for (std::size_t i = 0; i < timeline_.spans.size(); ++i) add_span(i);
    for (const Flow& flow : timeline_.flows) add_flow(flow);
    for (const Counter& counter : timeline_.counters) add_counter(counter);
    std::stable_sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) { return a.time < b.time; });

    std::string text = "{\"displayTimeUnit\":\"ns\",\n\"otherData\":" + other_data().dump() + ",\n\"traceEvents\":[\n";
    for (const Json& name : names_) text += name.dump() + ",\n";
    for (const Event& event : events_) text += event.json.dump() + ",\n";
    if (text.ends_with(",\n")) text.resize(text.size() - 2);
    return text + "\n]}\n";
  }

 private:
  Json other_data() const {
    Json data{{"tool", "cortado"},
              {"times", timeline_.simulated ? "simulated" : "measured"},
              {"where", timeline_.where},
              {"program", program_.name},
              {"machine", program_.machine},
              {"ranks", program_.ranks},
              {"bytes_moved", timeline_.bytes_moved.value}};
    if (timeline_.energy) add_energy(timeline_.energy, data);
    // Arrows that would point back in time cannot be drawn.
    if (undrawn_flows_ > 0) data["undrawn_arrows"] = undrawn_flows_;
    return data;
  }

  void add_name(std::string_view what, std::uint32_t process, std::optional<std::uint32_t> thread, Json value) {
    Json event{{"ph", "M"}, {"name", what}, {"pid", process}};
    if (thread) event["tid"] = *thread;
    event["args"] = std::move(value);
    names_.push_back(std::move(event));
  }

  void add_names() {
    std::map<std::uint32_t, std::string> processes;
    const auto add = [&](const std::optional<RankId>& rank) {
      processes.emplace(process_of(rank), rank ? fmt::format("rank {}", rank->value) : "host");
    };
    for (const Track& track : timeline_.tracks) add(track.rank);
    for (const Counter& counter : timeline_.counters) add(counter.rank);
    for (const auto& [process, title] : processes) {
      add_name("process_name", process, {}, {{"name", title}});
      add_name("process_sort_index", process, {}, {{"sort_index", process}});
    }
    for (std::uint32_t i = 0; i < layout_.threads.size(); ++i) {
      const Thread& thread = layout_.threads[i];
      const Track& track = timeline_.tracks[thread.track];
      // Lanes of a track are adjacent: 1000 of them fit between two tracks.
      add_name("thread_name", process_of(track), thread_id(i), {{"name", track.name}});
      add_name("thread_sort_index", process_of(track), thread_id(i),
               {{"sort_index", thread.track * 1000 + thread.lane}});
    }
  }

  /// Thread ids are unique in the whole trace and differ from the process ids, which would make a "main thread".
  std::uint32_t thread_id(std::uint32_t thread) const { return 10'000 + thread; }

  Json event_at(std::string_view phase, std::uint32_t thread, std::int64_t time) const {
    return {{"ph", phase},
            {"pid", process_of(timeline_.tracks[layout_.threads[thread].track])},
            {"tid", thread_id(thread)},
            {"ts", trace_time(time)}};
  }

  void add_span(std::size_t index) {
    const Span& span = timeline_.spans[index];
    const Slice& slice = layout_.slices[index];
    const bool mark = span.kind == SpanKind::mark;
    const std::int64_t time = mark ? span.start.value : slice.start;
    Json event = event_at(mark ? "i" : "X", slice.thread, time);
    if (mark) {
      event["s"] = "t";
    } else {
      event["dur"] = trace_time(slice.end - slice.start);
    }
    event["name"] = span.name;
    event["cat"] = category(span.kind);
    Json& args = event["args"] = {{"iteration", span.iteration}};
    const auto queue = queues_.find(timeline_.tracks[span.track].name);
    if (queue != queues_.end() && span.command < queue->second->commands.size()) {
      args["command"] = fmt::format("{}: {}", span.command, to_string(program_, queue->second->commands[span.command]));
    }
    if (span.bytes.value > 0) {
      args["bytes"] = span.bytes.value;
      const std::int64_t duration = span.end.value - span.start.value;
      if (duration > 0) args["GB/s"] = static_cast<double>(span.bytes.value) / static_cast<double>(duration);
    }
    events_.push_back({time, std::move(event)});
  }

  /// Both ends attach to the slice at their time, so they are placed inside: at the last nanosecond of the slice, with
  /// the start of the arrow not later than its end.
  void add_flow(const Flow& flow) {
    const Slice& from = layout_.slices[flow.from_span];
    const Slice& to = layout_.slices[flow.to_span];
    const std::int64_t arrive = to.end - 1;
    const std::int64_t leave = std::min(from.end - 1, arrive);
    const bool has_mark =
        timeline_.spans[flow.from_span].kind == SpanKind::mark || timeline_.spans[flow.to_span].kind == SpanKind::mark;
    if (leave < from.start || has_mark) {
      ++undrawn_flows_;
      return;
    }
    const auto add = [&](std::string_view phase, std::uint32_t thread, std::int64_t time) {
      Json event = event_at(phase, thread, time);
      event["id"] = next_flow_;
      event["name"] = "signal";
      event["cat"] = "dependency";
      if (phase == "f") event["bp"] = "e";
      events_.push_back({time, std::move(event)});
    };
    add("s", from.thread, leave);
    add("f", to.thread, arrive);
    ++next_flow_;
  }

  void add_counter(const Counter& counter) {
    for (const CounterSample& sample : counter.samples) {
      events_.push_back(
          {sample.time.value, Json{{"ph", "C"},
                                   {"pid", process_of(counter.rank)},
                                   {"ts", trace_time(sample.time.value)},
                                   {"name", fmt::format("{} ({})", counter.name, counter.unit)},
                                   {"args", {{counter.unit.empty() ? "value" : counter.unit, sample.value}}}}});
    }
  }

  const Timeline& timeline_;
  const Program& program_;
  const Layout layout_;
  std::map<std::string, const Queue*> queues_;
  std::vector<Json> names_;
  std::vector<Event> events_;
  std::uint32_t next_flow_ = 1;
  std::uint64_t undrawn_flows_ = 0;
};

}  // namespace

std::string perfetto_trace(const Timeline& timeline, const Program& program) {
  return TraceWriter(timeline, program).write();
}

}  // namespace cortado::report
