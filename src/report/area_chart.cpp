#include "report/area_chart.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "report/svg.hpp"

namespace cortado::report {
namespace {

constexpr double kAreaWidth = 1040;
constexpr double kAreaHeight = 280;
constexpr double kAreaLeft = 60;
constexpr double kAreaRight = 96;  // room for the name of the level
constexpr double kAreaTop = 60;    // title and legend
constexpr double kAreaBottom = 42;
constexpr double kRows = 5;          // ticks
constexpr double kColumns = 10;      // ticks
constexpr double kAreaLetter = 6.6;  // width, about

class AreaAxes {
 public:
  explicit AreaAxes(const AreaChart& chart) {
    double most = std::max(chart.most, chart.level ? chart.level->value : 0);
    for (const AreaStep& step : chart.steps) {
      most = std::max(most, std::accumulate(step.values.begin(), step.values.end(), 0.0));
    }
    step_ = round_up((most > 0 ? most : 1) / kRows);
    highest_ = step_ * std::ceil(most > 0 ? most / step_ : 1);
    begin_ = chart.steps.empty() ? 0 : chart.steps.front().at;
    span_ = chart.end > begin_ ? chart.end - begin_ : 1;
    column_ = round_up(span_ / kColumns);
  }

  double x(double at) const { return kAreaLeft + (kAreaWidth - kAreaLeft - kAreaRight) * (at - begin_) / span_; }
  double y(double value) const {
    return kAreaHeight - kAreaBottom - (kAreaHeight - kAreaTop - kAreaBottom) * value / highest_;
  }
  double step() const { return step_; }
  double highest() const { return highest_; }
  double column() const { return column_; }
  double begin() const { return begin_; }
  double end() const { return begin_ + span_; }

 private:
  double step_ = 1;
  double highest_ = 1;
  double begin_ = 0;
  double span_ = 1;
  double column_ = 1;
};

std::string line(double x1, double y1, double x2, double y2, std::string_view kind) {
  return fmt::format("<line x1='{:.1f}' y1='{:.1f}' x2='{:.1f}' y2='{:.1f}' class='{}'/>\n", x1, y1, x2, y2, kind);
}

std::string frame(const AreaChart& chart, const AreaAxes& axes) {
  std::string out = fmt::format("<text x='{}' y='20' class='title'>{}</text>\n", kAreaLeft, escape_html(chart.title));
  double x = kAreaLeft;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    out += fmt::format("<rect x='{:.1f}' y='32' width='11' height='11' rx='2' fill='{}'/>\n", x, series_colour(i));
    out += axis_text(x + 16, 42, "start", chart.series[i]);
    x += 36 + kAreaLetter * static_cast<double>(chart.series[i].size());
  }
  for (double value = 0; value <= axes.highest() + axes.step() / 2; value += axes.step()) {
    out += line(kAreaLeft, axes.y(value), kAreaWidth - kAreaRight, axes.y(value), value == 0 ? "axis" : "grid");
    out += axis_text(kAreaLeft - 6, axes.y(value) + 4, "end", fmt::format("{:g}", value));
  }
  for (double at = axes.begin(); at <= axes.end() + axes.column() * 1e-6; at += axes.column()) {
    out += line(axes.x(at), axes.y(0), axes.x(at), axes.y(0) + 4, "axis");
    out += axis_text(axes.x(at), kAreaHeight - kAreaBottom + 18, "middle", fmt::format("{:g}", at));
  }
  out += axis_text(kAreaWidth - kAreaRight, kAreaHeight - 8, "end", chart.time_unit);
  const double middle = (kAreaTop + kAreaHeight - kAreaBottom) / 2;
  return out + fmt::format(
                   "<text x='14' y='{0:.1f}' class='tick' text-anchor='middle' "
                   "transform='rotate(-90 14 {0:.1f})'>{1}</text>\n",
                   middle, escape_html(chart.unit));
}

/// The top edge of the series up to `count`, from left to right, as points of steps.
std::vector<std::pair<double, double>> edge(const AreaChart& chart, const AreaAxes& axes, std::size_t count) {
  std::vector<std::pair<double, double>> points;
  for (std::size_t i = 0; i < chart.steps.size(); ++i) {
    const AreaStep& step = chart.steps[i];
    const double until = i + 1 < chart.steps.size() ? chart.steps[i + 1].at : chart.end;
    const double y =
        axes.y(std::accumulate(step.values.begin(), step.values.begin() + static_cast<std::ptrdiff_t>(count), 0.0));
    points.emplace_back(axes.x(step.at), y);
    points.emplace_back(axes.x(until), y);
  }
  return points;
}

std::string area(const AreaChart& chart, const AreaAxes& axes, std::size_t index) {
  auto points = edge(chart, axes, index + 1);
  const auto below = edge(chart, axes, index);
  points.insert(points.end(), below.rbegin(), below.rend());
  std::string path;
  for (const auto& [x, y] : points) path += fmt::format("{:.1f},{:.1f} ", x, y);
  return fmt::format("<polygon points='{}' fill='{}'><title>{}</title></polygon>\n", path, series_colour(index),
                     escape_html(chart.series[index]));
}

std::string level(const AreaChart& chart, const AreaAxes& axes) {
  if (!chart.level) return {};
  const double y = axes.y(chart.level->value);
  return fmt::format(
             "<line x1='{}' y1='{:.1f}' x2='{}' y2='{:.1f}' stroke='var(--far)' stroke-width='1.5' "
             "stroke-dasharray='6 4'/>\n",
             kAreaLeft, y, kAreaWidth - kAreaRight, y) +
         axis_text(kAreaWidth - kAreaRight + 6, y + 4, "start", chart.level->name);
}

}  // namespace

std::string svg(const AreaChart& chart) {
  const AreaAxes axes(chart);
  std::string out = fmt::format("<svg viewBox='0 0 {} {}' role='img' aria-label='{}'>\n", kAreaWidth, kAreaHeight,
                                escape_html(chart.title));
  out += frame(chart, axes);
  for (std::size_t i = 0; i < chart.series.size(); ++i) out += area(chart, axes, i);
  return out + level(chart, axes) + "</svg>\n";
}

}  // namespace cortado::report
