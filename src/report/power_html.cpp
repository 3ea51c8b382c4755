#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/area_chart.hpp"
#include "report/bar_chart.hpp"
#include "report/power_parts.hpp"

namespace cortado::report {
namespace {

constexpr std::string_view kUniformCap = "uniform-cap";

std::vector<std::string> component_names() {
  return {"compute dies (xcd)", "I/O dies (iod)", "memory (hbm)", "rest of the board"};
}

std::string name_of_case(std::string_view what) {
  if (what == "gemm") return "product alone";
  return what == "collective" ? "collective alone" : "both at once";
}

BarChart means_chart(const PowerReport& report) {
  BarChart chart{"Mean power of a GPU, by component", "W", {}, component_names(), {}};
  std::vector<std::string> policies;  // of a group; their names have no room below bars
  for (const PowerRow& row : report.rows) {
    const std::string group = name_of_case(row.what);
    if (chart.groups.empty() || chart.groups.back().label != group) {
      chart.groups.push_back({group, {}});
    }
    const std::size_t number = chart.groups.back().bars.size() + 1;
    if (chart.groups.size() == 1) policies.push_back(fmt::format("{} {}", number, row.policy));
    Bar bar{fmt::format("{}", number), {}, fmt::format("{}, {}: {:.0f} W", group, row.policy, row.use.watts())};
    for (const Component component : kComponents) {
      bar.parts.push_back({static_cast<std::size_t>(component), row.use.watts(component)});
      bar.tooltip += fmt::format("\n{} {:.1f} W", name_of(component), row.use.watts(component));
    }
    chart.groups.back().bars.push_back(std::move(bar));
  }
  chart.positions = "below the bars: " + join(policies);
  return chart;
}

/// What the watts of a row must stay below.
std::optional<AreaChart::Level> level_of(const PowerRow& row, const PowerReport& report) {
  if (row.policy == kUniformCap && report.limit_w)
    return AreaChart::Level{fmt::format("limit {:g} W", *report.limit_w), *report.limit_w};
  if (report.cap_w) return AreaChart::Level{fmt::format("cap {:g} W", *report.cap_w), *report.cap_w};
  return std::nullopt;
}

AreaChart chart_of(const PowerRow& row, const PowerReport& report, double most) {
  AreaChart chart;
  chart.title = fmt::format("{}: {} ({:.0f} W on average, {:.1f} us an iteration)", row.policy, name_of_case(row.what),
                            row.use.watts(), row.time_us());
  chart.unit = "W";
  chart.time_unit = "ms";
  chart.series = component_names();
  chart.most = most;
  chart.level = level_of(row, report);
  for (const PowerSample& sample : row.over_time) {
    chart.steps.push_back({microseconds(sample.time) / 1e3, {sample.watts.begin(), sample.watts.end()}});
  }
  // The last sample lasts as long as the others do.
  const std::size_t count = chart.steps.size();
  chart.end = chart.steps[count - 1].at + (count > 1 ? chart.steps[1].at - chart.steps[0].at : 1);
  return chart;
}

std::string over_time_pictures(const PowerReport& report) {
  double most = report.cap_w.value_or(0);
  for (const PowerRow& row : report.rows) {
    for (const PowerSample& sample : row.over_time) most = std::max(most, sample.total());
  }
  std::string out;
  for (const PowerRow& row : report.rows) {
    if (!row.over_time.empty()) out += svg(chart_of(row, report, most));
  }
  if (out.empty()) return out;
  return "<h2>Power over time</h2>\n<p>GPU 0, from the first iteration on: the power management starts from the clocks "
         "of the machine file and settles. All pictures have the same vertical axis.</p>\n" +
         out;
}

}  // namespace

std::string power_pictures(const PowerReport& report) {
  return svg(means_chart(report)) + over_time_pictures(report);
}

}  // namespace cortado::report
