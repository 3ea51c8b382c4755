#include <fmt/format.h>

#include "report/bar_chart.hpp"
#include "report/characterization_parts.hpp"

namespace cortado::report {
namespace {

BarGroup& group_of(const std::string& label, BarChart& chart) {
  if (chart.groups.empty() || chart.groups.back().label != label) chart.groups.push_back({label, {}});
  return chart.groups.back();
}

/// Percent of the whole product, and times one after the other: beyond that nobody compares any more.
constexpr double kMostLoss = 60;
constexpr double kMostTime = 1.25;

BarChart decomposition_chart(const Characterization& report) {
  BarChart chart{
      "What pieces take more than the whole product", "% of the whole product", "below the bars: chunks", {}, {}};
  for (const std::string_view cause : DecompositionCauses::kNames) chart.series.emplace_back(cause);
  chart.series.emplace_back("kernel starts");
  chart.most = kMostLoss;
  for (const DecompositionRow& row : report.decomposition) {
    Bar bar{fmt::format("{}", row.chunks), {}, {}};
    bar.tooltip = fmt::format("{}, {} chunks: DIL {:.3f}; {} pieces, kernels {}", row.schedule, row.chunks, row.dil,
                              row.pieces, row.kernels);
    std::vector<double> values;
    for (const double value : row.causes.values()) values.push_back(value);
    values.push_back(row.kernel_starts);
    for (std::size_t i = 0; i < values.size(); ++i) {
      bar.parts.push_back({i, 100 * values[i]});
      bar.tooltip += fmt::format("\n{} {:+.1f} %", chart.series[i], 100 * values[i]);
    }
    group_of(row.schedule, chart).bars.push_back(std::move(bar));
  }
  return chart;
}

BarChart contention_chart(const Characterization& report) {
  BarChart chart{"What products and copies lose to each other",
                 "% slower than alone",
                 {},
                 {"products beside DMA engines", "copies by DMA engines", "products beside copying units",
                  "copies by compute units"},
                 {}};
  for (const ContentionRow& row : report.contention) {
    std::vector<Bar>& bars = group_of(row.schedule, chart).bars;
    const std::size_t first = row.on_cores ? 2 : 0;
    const std::array losses{row.cil_gemm, row.cil_comm};
    for (std::size_t i = 0; i < losses.size(); ++i) {
      bars.push_back({{},
                      {{first + i, 100 * (losses[i] - 1)}},
                      fmt::format("{}: {}: CIL {:.3f}", row.schedule, chart.series[first + i], losses[i])});
    }
  }
  return chart;
}

BarChart time_chart(const Characterization& report) {
  BarChart chart{
      "Where the time goes",
      "ms",
      "D: copies by DMA engines, U: by compute units",
      {"whole product", "cutting and starts", "contention", "other kernels", "first wait", "later waits", "rest"},
      {},
      kMostTime * microseconds(report.serial) / 1e3};
  for (const ContentionRow& row : report.contention) {
    const Nanoseconds known = row.products + row.other_kernels + row.first_wait + row.later_waits;
    const std::array parts{report.gemm_alone,
                           row.products_alone - report.gemm_alone,
                           row.products - row.products_alone,
                           row.other_kernels,
                           row.first_wait,
                           row.later_waits,
                           row.time - known};
    Bar bar{row.on_cores ? "U" : "D", {}, {}};
    bar.tooltip = fmt::format("{}, copies by {}: {:.1f} us, {:.2f} times as fast as serial", row.schedule, row.means(),
                              microseconds(row.time), row.speedup);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      bar.parts.push_back({i, microseconds(parts[i]) / 1e3});
      bar.tooltip += fmt::format("\n{} {:.1f} us", chart.series[i], microseconds(parts[i]));
    }
    group_of(row.schedule, chart).bars.push_back(std::move(bar));
  }
  return chart;
}

constexpr const char* kDecomposition =
    "The pieces of the product one after the other, each alone, against the whole product. Idle: compute units without "
    "work in waves that are filled in part. Tiles: smaller tiles, and tiles beyond the edges. Operands: memory and "
    "caches slower than the units. Results: what is added to is read as well. Starts: of tiles. Starts of kernels are "
    "not a part of DIL. Below zero: less than in the whole product.";
constexpr const char* kContention =
    "Products and copies at the same time against the same ones alone, with copies by DMA engines and by compute "
    "units; "
    "waiting does not count. Times of the rank whose products take longest.";

}  // namespace

std::string decomposition_picture(const Characterization& report) {
  return fmt::format("<p>{}</p>\n", kDecomposition) + svg(decomposition_chart(report));
}

std::string contention_pictures(const Characterization& report) {
  return fmt::format("<p>{}</p>\n", kContention) + svg(contention_chart(report)) + svg(time_chart(report));
}

}  // namespace cortado::report
