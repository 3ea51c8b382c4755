#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "cortado/timeline.hpp"

namespace cortado {
namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

class Walk {
 public:
  Walk(const Timeline& timeline, const StartUp& start_up)
      : timeline_(timeline),
        start_up_(start_up),
        before_(timeline.spans.size(), kNone),
        submitted_by_(timeline.spans.size(), kNone),
        released_by_(timeline.spans.size(), kNone) {
    index_tracks();
    for (const Flow& flow : timeline.flows) {
      const bool submit = timeline.spans[flow.from_span].kind == SpanKind::host;
      (submit ? submitted_by_ : released_by_)[flow.to_span] = flow.from_span;
    }
  }

  CriticalPath go() {
    std::uint32_t at = last_host_span();
    if (at == kNone) return path_;
    now_ = span(at).end;
    begin_ = now_ - timeline_.iteration_times[span(at).iteration];
    while (at != kNone && now_ > begin_) at = step(at);
    return path_;
  }

 private:
  const Span& span(std::uint32_t index) const { return timeline_.spans[index]; }
  bool on_host(const Span& of) const { return timeline_.tracks[of.track].host; }

  /// Order within a track.
  static bool comes_before(const Span& a, const Span& b) {
    return a.iteration != b.iteration ? a.iteration < b.iteration : a.command < b.command;
  }

  /// For each span: the one that ended last among those before it on its track. Spans are usually recorded in the order
  /// of their tracks; there are many, so they are sorted only if they are not.
  void index_tracks() {
    std::vector<std::uint32_t> newest(timeline_.tracks.size(), kNone);  // the span of each track so far
    std::vector<std::uint32_t> latest(timeline_.tracks.size(), kNone);  // the one that ended last
    for (std::uint32_t i = 0; i < timeline_.spans.size(); ++i) {
      const std::uint32_t previous = std::exchange(newest[span(i).track], i);
      if (previous != kNone && comes_before(span(i), span(previous))) return sort_tracks();
      append(i, latest);
    }
  }

  void sort_tracks() {
    std::vector<std::uint32_t> order(timeline_.spans.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [this](std::uint32_t a, std::uint32_t b) { return comes_before(span(a), span(b)); });
    std::vector<std::uint32_t> latest(timeline_.tracks.size(), kNone);
    for (const std::uint32_t index : order) append(index, latest);
  }

  void append(std::uint32_t index, std::vector<std::uint32_t>& latest) {
    std::uint32_t& of_track = latest[span(index).track];
    before_[index] = of_track;
    if (of_track == kNone || span(index).end >= span(of_track).end) of_track = index;
  }

  std::uint32_t last_host_span() const {
    std::uint32_t last = kNone;
    for (std::uint32_t i = 0; i < timeline_.spans.size(); ++i) {
      if (on_host(span(i)) && (last == kNone || span(i).end >= span(last).end)) last = i;
    }
    return last;
  }

  /// Attributes the time on the path since `time` to `part`; `time` becomes the present.
  void back_to(Nanoseconds time, Nanoseconds CriticalPath::*part) {
    const Nanoseconds until = std::max(std::min(time, now_), begin_);
    path_.*part = path_.*part + (now_ - until);
    now_ = until;
  }

  Nanoseconds CriticalPath::*part_of(const Span& of) const {
    if (of.kind == SpanKind::wait) return &CriticalPath::wait;
    if (on_host(of)) return &CriticalPath::host;
    if (of.kind == SpanKind::copy) return &CriticalPath::copy;
    if (of.kind == SpanKind::kernel) return &CriticalPath::kernel;
    return &CriticalPath::sync;
  }

  /// From a span that ends, or is in progress, at the present time to the one that it had to wait for.
  std::uint32_t step(std::uint32_t at) {
    const Span& here = span(at);
    if (const std::uint32_t raise = released_by_[at]; raise != kNone && span(raise).end > here.start) {
      back_to(span(raise).end, &CriticalPath::wait);
      return raise;
    }
    if (here.kind == SpanKind::copy && start_up_) {
      back_to(here.start + start_up_(here), &CriticalPath::copy);
      back_to(here.start, &CriticalPath::schedule);
    } else {
      back_to(here.start, part_of(here));
    }
    std::uint32_t cause = before_[at];
    if (const std::uint32_t submit = submitted_by_[at];
        submit != kNone && (cause == kNone || span(submit).end >= span(cause).end)) {
      cause = submit;
    }
    if (cause != kNone) back_to(span(cause).end, on_host(here) ? &CriticalPath::host : &CriticalPath::schedule);
    return cause;
  }

  const Timeline& timeline_;
  const StartUp& start_up_;
  std::vector<std::uint32_t> before_;        // by span
  std::vector<std::uint32_t> submitted_by_;  // by span
  std::vector<std::uint32_t> released_by_;   // by span
  CriticalPath path_{};
  Nanoseconds now_;
  Nanoseconds begin_;
};

}  // namespace

CriticalPath critical_path(const Timeline& timeline, const StartUp& start_up) {
  return Walk(timeline, start_up).go();
}

}  // namespace cortado
