#include "report/chart.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "report/svg.hpp"

namespace cortado::report {
namespace {

constexpr double kChartWidth = 860;
constexpr double kChartHeight = 380;
constexpr double kChartLeft = 56;
constexpr double kChartRight = 130;  // room for the legend
constexpr double kChartTop = 34;
constexpr double kChartBottom = 52;
constexpr int kChartTicks = 5;

double largest(const Chart& chart) {
  double most = 0;
  for (const ChartSeries& series : chart.series) {
    for (const auto& value : series.line) most = std::max(most, value.value_or(0));
    for (const auto& value : series.rings) most = std::max(most, value.value_or(0));
  }
  return most > 0 ? most : 1;
}

class ChartAxes {
 public:
  explicit ChartAxes(const Chart& chart)
      : positions_(chart.positions.size()), step_(round_up(largest(chart) / kChartTicks)) {}

  double x(std::size_t position) const {
    const double span = kChartWidth - kChartLeft - kChartRight;
    return kChartLeft +
           span * static_cast<double>(position) / static_cast<double>(std::max<std::size_t>(positions_ - 1, 1));
  }
  double y(double value) const {
    return kChartHeight - kChartBottom - (kChartHeight - kChartTop - kChartBottom) * value / (step_ * kChartTicks);
  }
  double step() const { return step_; }

 private:
  std::size_t positions_;
  double step_;
};

std::string frame(const Chart& chart, const ChartAxes& axes) {
  std::string out = fmt::format("<text x='{}' y='18' class='title'>{}</text>\n", kChartLeft, escape_html(chart.title));
  for (int i = 0; i <= kChartTicks; ++i) {
    const double value = axes.step() * i;
    const double y = axes.y(value);
    out += fmt::format("<line x1='{}' x2='{}' y1='{:.1f}' y2='{:.1f}' class='grid'/>\n", kChartLeft,
                       kChartWidth - kChartRight, y, y);
    out += fmt::format("<text x='{}' y='{:.1f}' class='tick' text-anchor='end'>{:g}</text>\n", kChartLeft - 6, y + 4,
                       value);
  }
  const std::size_t every = (chart.positions.size() + 11) / 12;  // as many labels as have room
  for (std::size_t i = 0; i < chart.positions.size(); i += every) {
    out += fmt::format("<text x='{:.1f}' y='{}' class='tick' text-anchor='middle'>{}</text>\n", axes.x(i),
                       kChartHeight - kChartBottom + 18, escape_html(chart.positions[i]));
  }
  const bool rings = std::ranges::any_of(chart.series, [](const ChartSeries& series) { return !series.rings.empty(); });
  return out + fmt::format("<text x='{}' y='{}' class='tick'>{}{}</text>\n", kChartLeft, kChartHeight - 10,
                           escape_html(chart.unit), rings ? "; line: ours, ring: published" : "");
}

std::string drawn(const Chart& chart, const ChartAxes& axes, std::size_t index) {
  const ChartSeries& series = chart.series[index];
  const std::string_view colour = series_colour(index);
  std::string points;
  std::string dots;
  for (std::size_t i = 0; i < series.line.size(); ++i) {
    if (!series.line[i]) continue;
    points += fmt::format("{:.1f},{:.1f} ", axes.x(i), axes.y(*series.line[i]));
    dots += fmt::format("<circle cx='{:.1f}' cy='{:.1f}' r='2' fill='{}'><title>{} {}: {}{:.2f}</title></circle>\n",
                        axes.x(i), axes.y(*series.line[i]), colour, escape_html(series.name),
                        escape_html(chart.positions[i]), series.rings.empty() ? "" : "ours ", *series.line[i]);
  }
  for (std::size_t i = 0; i < series.rings.size(); ++i) {
    if (!series.rings[i]) continue;
    dots += fmt::format(
        "<circle cx='{:.1f}' cy='{:.1f}' r='4.5' fill='none' stroke='{}'><title>{} {}: published {:.2f}</title>"
        "</circle>\n",
        axes.x(i), axes.y(*series.rings[i]), colour, escape_html(series.name), escape_html(chart.positions[i]),
        *series.rings[i]);
  }
  const double legend = kChartTop + 20 * static_cast<double>(index);
  return fmt::format("<polyline points='{}' fill='none' stroke='{}' stroke-width='1.6'/>\n{}", points, colour, dots) +
         fmt::format("<circle cx='{}' cy='{}' r='5' fill='{}'/><text x='{}' y='{}' class='tick'>{}</text>\n",
                     kChartWidth - kChartRight + 22, legend, colour, kChartWidth - kChartRight + 34, legend + 4,
                     escape_html(series.name));
}

}  // namespace

std::string svg(const Chart& chart) {
  const ChartAxes axes(chart);
  std::string out = fmt::format("<svg viewBox='0 0 {} {}' role='img' aria-label='{}'>\n", kChartWidth, kChartHeight,
                                escape_html(chart.title));
  out += frame(chart, axes);
  for (std::size_t i = 0; i < chart.series.size(); ++i) out += drawn(chart, axes, i);
  return out + "</svg>\n";
}

}  // namespace cortado::report
