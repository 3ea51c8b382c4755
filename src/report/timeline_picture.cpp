#include "report/timeline_picture.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "report/svg.hpp"

namespace cortado::report {
namespace {

constexpr double kPictureWidth = 1100;
constexpr double kPictureLeft = 150;
constexpr double kPictureRight = 20;
constexpr double kPictureTop = 62;  // title and legend
constexpr double kLane = 20;
constexpr double kBetweenGpus = 12;
constexpr double kBar = 14;
constexpr double kThin = 3;  // waits
constexpr double kPictureBottom = 34;
constexpr double kPictureTicks = 8;
constexpr double kPictureLetter = 6.2;   // width, about
constexpr double kNarrowest = 0.6;       // of a bar, so that it can be seen
constexpr std::size_t kMaxArrows = 400;  // more would hide the rest

struct Colour {
  SpanKind kind;
  const char* name;
  std::size_t colour;  // of series_colour
};

constexpr std::array kColours{Colour{SpanKind::kernel, "kernels", 0}, Colour{SpanKind::copy, "copies", 1},
                              Colour{SpanKind::signal, "signals", 2}, Colour{SpanKind::wait, "waits", 6},
                              Colour{SpanKind::host, "host", 5}};

std::string_view colour_of(SpanKind kind) {
  for (const Colour& one : kColours) {
    if (one.kind == kind) return series_colour(one.colour);
  }
  return series_colour(6);
}

class Picture {
 public:
  Picture(const Timeline& timeline, const PictureOptions& options) : timeline_(timeline), options_(options) {
    place_lanes();
    for (const Span& span : timeline.spans) {
      if (!lanes_[span.track]) continue;
      begin_ = begin_ ? std::min(*begin_, span.start) : span.start;
      end_ = std::max(end_, span.end);
    }
    const double span_us = microseconds(end_ - begin_.value_or(Nanoseconds{}));
    step_us_ = round_up(std::max(span_us, 1e-3) / kPictureTicks);
  }

  std::string draw() const {
    std::string out = fmt::format(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {0} {1:.0f}' width='{0}' height='{1:.0f}' "
        "font-family='sans-serif' font-size='11'>\n<rect width='100%' height='100%' fill='#ffffff'/>\n",
        kPictureWidth, height());
    out += frame();
    for (const Span& span : timeline_.spans) out += bar(span);
    out += arrows();
    return out + "</svg>\n";
  }

 private:
  /// GPUs in order, the tracks of each in theirs.
  void place_lanes() {
    std::map<std::uint32_t, std::vector<std::size_t>> by_gpu;
    for (std::size_t i = 0; i < timeline_.tracks.size(); ++i) {
      const Track& track = timeline_.tracks[i];
      if (track.host && !options_.hosts) continue;
      by_gpu[track.rank ? track.rank->value : 0].push_back(i);
    }
    lanes_.resize(timeline_.tracks.size());
    double y = kPictureTop;
    for (const auto& [gpu, tracks] : by_gpu) {
      for (const std::size_t track : tracks) {
        lanes_[track] = y;
        y += kLane;
      }
      y += kBetweenGpus;
    }
    bottom_ = y;
  }

  double height() const { return bottom_ + kPictureBottom; }
  double x(Nanoseconds time) const {
    const double range = std::max(microseconds(end_ - begin_.value_or(Nanoseconds{})), 1e-3);
    return kPictureLeft +
           (kPictureWidth - kPictureLeft - kPictureRight) * microseconds(time - begin_.value_or(Nanoseconds{})) / range;
  }

  static std::string text(double at_x, double at_y, const char* anchor, std::string_view what) {
    return fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='{}' fill='#333333'>{}</text>\n", at_x, at_y, anchor,
                       escape_html(what));
  }

  std::string frame() const {
    std::string out = fmt::format("<text x='10' y='20' font-size='14' fill='#000000'>{}</text>\n",
                                  escape_html(options_.title.empty() ? timeline_.where : options_.title));
    double at = 10;
    for (const Colour& one : kColours) {
      const bool used = std::any_of(timeline_.spans.begin(), timeline_.spans.end(), [&](const Span& span) {
        return span.kind == one.kind && lanes_[span.track].has_value();
      });
      if (!used) continue;
      out += fmt::format("<rect x='{:.1f}' y='32' width='11' height='11' fill='{}'/>\n", at, series_colour(one.colour));
      out += text(at + 16, 42, "start", one.name);
      at += 36 + kPictureLetter * static_cast<double>(std::string_view(one.name).size());
    }
    const double last = microseconds(end_ - begin_.value_or(Nanoseconds{}));
    for (double tick = 0; tick <= last * (1 + 1e-9); tick += step_us_) {
      const double at_x = kPictureLeft + (kPictureWidth - kPictureLeft - kPictureRight) * tick / std::max(last, 1e-3);
      out += fmt::format("<line x1='{0:.1f}' x2='{0:.1f}' y1='{1}' y2='{2:.1f}' stroke='#dddddd'/>\n", at_x,
                         kPictureTop - 6, bottom_);
      out += text(at_x, bottom_ + 16, "middle", fmt::format("{:g} us", tick));
    }
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      if (lanes_[i]) out += text(kPictureLeft - 8, *lanes_[i] + kBar - 2, "end", timeline_.tracks[i].name);
    }
    return out;
  }

  std::string bar(const Span& span) const {
    if (!lanes_[span.track] || span.kind == SpanKind::mark) return {};
    const bool waits = span.kind == SpanKind::wait;
    const double height = waits ? kThin : kBar;
    const double left = x(span.start);
    const double width = std::max(x(span.end) - left, kNarrowest);
    std::string out = fmt::format(
        "<rect x='{:.1f}' y='{:.1f}' width='{:.1f}' height='{}' fill='{}' stroke='#ffffff' stroke-width='0.4'>"
        "<title>{}: {:.2f} to {:.2f} us</title></rect>\n",
        left, *lanes_[span.track] + (kBar - height) / 2, width, height, colour_of(span.kind), escape_html(span.name),
        microseconds(span.start - begin_.value_or(Nanoseconds{})),
        microseconds(span.end - begin_.value_or(Nanoseconds{})));
    return out;
  }

  /// From what raised a signal to the wait that it released.
  std::string arrows() const {
    std::string out;
    std::size_t drawn = 0;
    for (const Flow& flow : timeline_.flows) {
      const Span& from = timeline_.spans[flow.from_span];
      const Span& to = timeline_.spans[flow.to_span];
      if (!lanes_[from.track] || !lanes_[to.track] || to.kind != SpanKind::wait || from.track == to.track) continue;
      if (++drawn > kMaxArrows) break;
      out += fmt::format(
          "<line x1='{:.1f}' y1='{:.1f}' x2='{:.1f}' y2='{:.1f}' stroke='#009e73' stroke-width='0.8' "
          "stroke-dasharray='3 2'/>\n",
          x(std::min(from.end, to.end)), *lanes_[from.track] + kBar / 2, x(to.end), *lanes_[to.track] + kBar / 2);
    }
    return out;
  }

  const Timeline& timeline_;
  const PictureOptions& options_;
  std::vector<std::optional<double>> lanes_;  // top, by track; none: not drawn
  double bottom_ = 0;
  std::optional<Nanoseconds> begin_;
  Nanoseconds end_{};
  double step_us_ = 1;
};

}  // namespace

std::string timeline_picture(const Timeline& timeline, const PictureOptions& options) {
  return Picture(timeline, options).draw();
}

}  // namespace cortado::report
