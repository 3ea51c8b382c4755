#include "device/executor/trace_collector.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cortado/program.hpp"

#include "device/executor/preparation.hpp"
#include "ir/visit.hpp"

namespace cortado::device {
namespace {

SpanKind kind_of(const Command& command) {
  return match(
      command, [](const Wait&) { return SpanKind::wait; }, [](const Signal&) { return SpanKind::signal; },
      [](const Trigger&) { return SpanKind::signal; }, [](const Gemm&) { return SpanKind::kernel; },
      [](const Kernel&) { return SpanKind::kernel; }, [](const Call&) { return SpanKind::kernel; },
      [](const Submit&) { return SpanKind::host; }, [](const Timestamp&) { return SpanKind::mark; },
      [](const auto&) { return SpanKind::copy; });
}

/// A command that raises or awaits a signal, at the end of its span.
struct Raise {
  std::int64_t time = 0;
  std::uint32_t span = 0;
  std::uint64_t value = 0;
  bool set = false;
};
struct Await {
  std::uint32_t span = 0;
  std::uint64_t value = 0;
};

class Collector {
 public:
  Collector(const Preparation& preparation, const HostTrace& hosts, const TraceRange& range, Timeline& timeline)
      : preparation_(preparation),
        program_(preparation.program()),
        hosts_(hosts),
        range_(range),
        timeline_(timeline),
        raises_(program_.signals.size()),
        awaits_(program_.signals.size()),
        last_updates_(program_.trackers.size(), std::vector<LastUpdate>(range.iterations)) {}

  void run() {
    std::size_t host = 0;
    for (std::uint32_t q = 0; q < program_.queues.size(); ++q) {
      first_span_.push_back(static_cast<std::uint32_t>(timeline_.spans.size()));
      if (program_.queues[q].kind == QueueKind::host) {
        add_queue(QueueId{q}, [&, host](std::uint64_t iteration, std::uint32_t command) {
          return hosts_.at(iteration, host, command);
        });
        ++host;
      } else {
        add_queue(QueueId{q}, [&](std::uint64_t iteration, std::uint32_t command) {
          return HostTimes{device_time(QueueId{q}, iteration, command),
                           device_time(QueueId{q}, iteration, command + 1)};
        });
      }
    }
    connect_submits();
    note_trackers();
    connect_signals();
  }

 private:
  /// The last update of a tracker to end in an iteration.
  struct LastUpdate {
    std::int64_t time = 0;
    std::optional<std::uint32_t> span;
  };

  std::uint64_t first_iteration() const { return range_.end_iteration - range_.iterations; }

  std::int64_t device_time(QueueId queue, std::uint64_t iteration, std::uint32_t slot) const {
    std::uint64_t ticks = 0;
    const std::uint64_t offset = preparation_.slots.offset(iteration) + preparation_.slot_layout.offset[queue.value];
    std::memcpy(&ticks, preparation_.slots.data + offset + slot * kSlotBytes, sizeof ticks);
    const auto ago = static_cast<double>(static_cast<std::int64_t>(range_.device_now.now - ticks));
    return range_.host_now -
           static_cast<std::int64_t>(ago * 1e9 / static_cast<double>(range_.device_now.ticks_per_second));
  }

  template <class Times>
  void add_queue(QueueId id, const Times& times) {
    const Queue& queue = program_.queue(id);
    std::vector<std::string> names;
    std::vector<std::vector<std::size_t>> updated;  // trackers, by command
    for (const Command& command : queue.commands) {
      names.push_back(to_string(program_, command));
      updated.push_back(trackers_of(command));
    }
    for (std::uint64_t iteration = first_iteration(); iteration < range_.end_iteration; ++iteration) {
      for (std::uint32_t c = 0; c < queue.commands.size(); ++c) {
        const Command& command = queue.commands[c];
        const HostTimes time = times(iteration, c);
        Span span;
        span.track = id.value;
        span.name = names[c];
        span.kind = kind_of(command);
        span.start = {time.start};
        span.end = {span.kind == SpanKind::mark ? time.start : std::max(time.end, time.start)};
        span.bytes = moved_bytes(command);
        span.iteration = static_cast<std::uint32_t>(iteration);
        span.command = c;
        note_signals(command, iteration - first_iteration(), span.end.value);
        for (const std::size_t tracker : updated[c]) {
          LastUpdate& last = last_updates_[tracker][iteration - first_iteration()];
          if (last.span && last.time > span.end.value) continue;
          last = {span.end.value, static_cast<std::uint32_t>(timeline_.spans.size())};
        }
        timeline_.spans.push_back(std::move(span));
      }
    }
  }

  /// Remembers what the span about to be added raises or awaits. Values are counted from the first kept iteration on.
  void note_signals(const Command& command, std::uint64_t kept_iteration, std::int64_t end) {
    const auto span = static_cast<std::uint32_t>(timeline_.spans.size());
    const auto base = [&](SignalId signal) { return kept_iteration * preparation_.advances[signal.value]; };
    match(
        command,
        [&](const Signal& s) {
          const bool set = s.op == SignalOp::set;
          raises_[s.signal.value].push_back({end, span, set ? base(s.signal) + s.value : s.value, set});
        },
        [&](const Trigger& t) {
          raises_[t.signal.value].push_back({end, span, t.value, false});
        },
        [&](const Gemm& g) {
          for (const TileSignal& tile : g.raises) raises_[tile.signal.value].push_back({end, span, tile.value, false});
          for (const TileWait& tile : g.waits)
            awaits_[tile.signal.value].push_back({span, base(tile.signal) + tile.value});
        },
        [&](const Wait& w) {
          awaits_[w.signal.value].push_back({span, base(w.signal) + w.value});
        },
        [](const auto&) {});
  }

  /// The trackers whose bytes the command may update: those that its destinations reach into.
  std::vector<std::size_t> trackers_of(const Command& command) const {
    std::vector<std::size_t> found;
    const auto reaches = [&](const Region& to, const Region& tracked) {
      return to.buffer == tracked.buffer && to.offset < tracked.offset + tracked.extent() &&
             tracked.offset < to.offset + to.extent();
    };
    for (std::size_t t = 0; t < program_.trackers.size(); ++t) {
      const Region& tracked = program_.trackers[t].region;
      const bool updates = match(
          command, [&](const Copy& copy) { return reaches(copy.dst, tracked); },
          [&](const Gemm& gemm) {
            return std::ranges::any_of(gemm.outputs, [&](const OutputBlock& b) { return reaches(b.to, tracked); });
          },
          [](const auto&) { return false; });
      if (updates) found.push_back(t);
    }
    return found;
  }

  void note_trackers() {
    for (std::size_t t = 0; t < last_updates_.size(); ++t) {
      const Tracker& tracker = program_.trackers[t];
      for (const LastUpdate& last : last_updates_[t]) {
        if (last.span) raises_[tracker.signal.value].push_back({last.time, *last.span, tracker.value, false});
      }
    }
  }

  std::uint32_t span_of(QueueId queue, std::uint64_t kept_iteration, std::uint32_t command) const {
    const std::uint64_t commands = program_.queue(queue).commands.size();
    return first_span_[queue.value] + static_cast<std::uint32_t>(kept_iteration * commands) + command;
  }

  void connect_submits() {
    for (std::uint32_t q = 0; q < program_.queues.size(); ++q) {
      const std::vector<Command>& commands = program_.queues[q].commands;
      for (std::uint32_t c = 0; c < commands.size(); ++c) {
        const auto* submit = std::get_if<Submit>(&commands[c]);
        if (submit == nullptr || program_.queue(submit->queue).commands.empty()) continue;
        for (std::uint64_t kept = 0; kept < range_.iterations; ++kept) {
          timeline_.flows.push_back({span_of(QueueId{q}, kept, c), span_of(submit->queue, kept, 0)});
        }
      }
    }
  }

  void connect_signals() {
    for (std::size_t s = 0; s < raises_.size(); ++s) {
      std::vector<Raise>& raises = raises_[s];
      std::vector<Await>& awaits = awaits_[s];
      std::stable_sort(raises.begin(), raises.end(), [](const Raise& a, const Raise& b) { return a.time < b.time; });
      std::stable_sort(awaits.begin(), awaits.end(), [](const Await& a, const Await& b) { return a.value < b.value; });
      std::uint64_t counter = 0;
      std::size_t next = 0;
      while (next < awaits.size() && awaits[next].value == 0) ++next;  // true before any raise
      for (const Raise& raise : raises) {
        counter = raise.set ? std::max(counter, raise.value) : counter + raise.value;
        for (; next < awaits.size() && awaits[next].value <= counter; ++next) {
          timeline_.flows.push_back({raise.span, awaits[next].span});
        }
      }
    }
  }

  const Preparation& preparation_;
  const Program& program_;
  const HostTrace& hosts_;
  const TraceRange& range_;
  Timeline& timeline_;
  std::vector<std::uint32_t> first_span_;              // by QueueId
  std::vector<std::vector<Raise>> raises_;             // by SignalId
  std::vector<std::vector<Await>> awaits_;             // by SignalId
  std::vector<std::vector<LastUpdate>> last_updates_;  // by tracker and kept iteration
};

}  // namespace

void collect_trace(const Preparation& preparation, const HostTrace& hosts, const TraceRange& range,
                   Timeline& timeline) {
  Collector(preparation, hosts, range, timeline).run();
}

}  // namespace cortado::device
