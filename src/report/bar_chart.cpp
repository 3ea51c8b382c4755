#include "report/bar_chart.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/svg.hpp"

namespace cortado::report {
namespace {

constexpr double kBarWidth = 1040;
constexpr double kBarHeight = 400;
constexpr double kBarLeft = 60;
constexpr double kBarRight = 16;
constexpr double kBarTop = 66;  // title and legend
constexpr double kBarBottom = 62;
constexpr double kBarTicks = 6;
constexpr double kBarLetter = 6.6;  // width, about
constexpr double kNothing = 0.02;   // of a tick, which nobody can see

struct Extent {
  double low = 0;
  double high = 0;
};

Extent extent_of(const Bar& bar) {
  Extent extent;
  for (const BarPart& part : bar.parts) (part.value < 0 ? extent.low : extent.high) += part.value;
  return extent;
}

class BarAxes {
 public:
  explicit BarAxes(const BarChart& chart) {
    Extent all;
    for (const BarGroup& group : chart.groups) {
      for (const Bar& bar : group.bars) {
        const Extent extent = extent_of(bar);
        all = {std::min(all.low, extent.low), std::max(all.high, extent.high)};
      }
      places_ += group.bars.size() + 1;  // one stays free between groups
    }
    most_ = std::min(chart.most, all.high);
    const double span = most_ - all.low;
    step_ = round_up((span > 0 ? span : 1) / kBarTicks);
    lowest_ = std::floor(all.low / step_ + kNothing);
    highest_ = std::max(std::ceil(most_ / step_ - kNothing), lowest_ + 1);
  }

  double y(double value) const {
    const double share = std::clamp((value / step_ - lowest_) / (highest_ - lowest_), 0.0, 1.0);
    return kBarHeight - kBarBottom - (kBarHeight - kBarTop - kBarBottom) * share;
  }
  /// Left edge of a place for a bar; places are counted over all groups, free ones included.
  double x(std::size_t place) const { return kBarLeft + place_width() * (static_cast<double>(place) + 0.5); }
  double place_width() const {
    return (kBarWidth - kBarLeft - kBarRight) / static_cast<double>(std::max<std::size_t>(places_, 1));
  }
  double step() const { return step_; }
  double lowest() const { return lowest_; }  // in steps
  double highest() const { return highest_; }
  bool cuts(const Bar& bar) const { return extent_of(bar).high > highest_ * step_ * (1 + kNothing); }

 private:
  std::size_t places_ = 0;
  double most_ = 0;
  double step_ = 1;
  double lowest_ = 0;
  double highest_ = 1;
};

std::string frame(const BarChart& chart, const BarAxes& axes) {
  std::string out = fmt::format("<text x='{}' y='20' class='title'>{}</text>\n", kBarLeft, escape_html(chart.title));
  double x = kBarLeft;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    out += fmt::format("<rect x='{:.1f}' y='34' width='11' height='11' rx='2' fill='{}'/>\n", x, series_colour(i));
    out += axis_text(x + 16, 44, "start", chart.series[i]);
    x += 36 + kBarLetter * static_cast<double>(chart.series[i].size());
  }
  for (double step = axes.lowest(); step <= axes.highest(); ++step) {
    const double value = step * axes.step();
    out += fmt::format("<line x1='{}' x2='{}' y1='{:.1f}' y2='{:.1f}' class='{}'/>\n", kBarLeft, kBarWidth - kBarRight,
                       axes.y(value), axes.y(value), step == 0 ? "axis" : "grid");
    out += axis_text(kBarLeft - 6, axes.y(value) + 4, "end", fmt::format("{:g}", value));
  }
  const double middle = (kBarTop + kBarHeight - kBarBottom) / 2;
  out += fmt::format(
      "<text x='14' y='{0:.1f}' class='tick' text-anchor='middle' transform='rotate(-90 14 {0:.1f})'>{1}</text>\n",
      middle, escape_html(chart.unit));
  if (!chart.positions.empty()) out += axis_text(kBarWidth - kBarRight, kBarHeight - 8, "end", chart.positions);
  return out;
}

std::string drawn(const Bar& bar, double x, const BarAxes& axes) {
  const double width = axes.place_width() * 0.82;
  std::string out = fmt::format("<g><title>{}</title>\n", escape_html(bar.tooltip));
  Extent at;
  for (const BarPart& part : bar.parts) {
    if (part.value == 0) continue;
    double& from = part.value < 0 ? at.low : at.high;
    const double top = axes.y(std::max(from, from + part.value));
    const double bottom = axes.y(std::min(from, from + part.value));
    out += fmt::format("<rect x='{:.1f}' y='{:.2f}' width='{:.1f}' height='{:.2f}' fill='{}'/>\n", x, top, width,
                       bottom - top, series_colour(part.series));
    from += part.value;
  }
  out += fmt::format("<rect x='{:.1f}' y='{}' width='{:.1f}' height='{}' fill='transparent'/></g>\n", x, kBarTop, width,
                     kBarHeight - kBarTop - kBarBottom);  // so that small bars can be pointed at
  if (axes.cuts(bar))
    out += axis_text(x + width / 2, kBarTop - 5, "middle", fmt::format("{:.3g}↑", extent_of(bar).high));
  return out + axis_text(x + width / 2, kBarHeight - kBarBottom + 16, "middle", bar.label);
}

}  // namespace

std::string svg(const BarChart& chart) {
  const BarAxes axes(chart);
  std::string out = fmt::format("<svg viewBox='0 0 {} {}' role='img' aria-label='{}'>\n", kBarWidth, kBarHeight,
                                escape_html(chart.title));
  out += frame(chart, axes);
  std::size_t place = 0;
  for (const BarGroup& group : chart.groups) {
    const double middle = (axes.x(place) + axes.x(place + group.bars.size())) / 2;
    for (const Bar& bar : group.bars) out += drawn(bar, axes.x(place++), axes);
    ++place;
    out += axis_text(middle, kBarHeight - kBarBottom + 36, "middle", group.label);
  }
  return out + "</svg>\n";
}

}  // namespace cortado::report
