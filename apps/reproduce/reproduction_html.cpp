#include <fmt/format.h>

#include "base/text.hpp"
#include "report/chart.hpp"
#include "report/html_page.hpp"
#include "report/svg.hpp"
#include "reproduce/reproduction_tables.hpp"

namespace cortado::report {
namespace {

Chart chart_of(const ReproducedTable& table) {
  Chart chart{table.published.title, table.published.unit, {}, {}};
  for (const Bytes size : table.published.sizes) chart.positions.push_back(format_bytes(size));
  for (std::size_t j = 0; j < table.published.columns.size(); ++j) {
    ChartSeries series{table.published.columns[j], {}, {}};
    for (std::size_t i = 0; i < table.published.sizes.size(); ++i) {
      series.line.push_back(table.ours[i][j]);
      series.rings.push_back(table.published.values[i][j]);
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

std::string section(const ReproducedTable& table) {
  return fmt::format(
      "<h2>{}</h2>\n<p class='source'>Source: {}. Used for {}. Result: {}.</p>\n{}<details><summary>All numbers: "
      "published / ours</summary>\n{}</details>\n",
      escape_html(table.published.title), escape_html(table.published.source.text),
      published::to_string(table.published.used_for), verdict(table), svg(chart_of(table)),
      html_of(side_by_side(table)));
}

}  // namespace

std::string reproduction_html(const std::vector<Reproduction>& all) {
  std::string body;
  for (const Reproduction& one : all) {
    body += fmt::format("<h1>{}</h1>\n<p>Published numbers beside ours, simulated on {}. Source: {}.</p>\n",
                        escape_html(one.title), escape_html(one.machine), escape_html(one.source));
    if (!one.figures.empty()) body += html_of(figure_table(one.figures));
    for (const ReproducedTable& table : one.tables) body += section(table);
    for (const Table& table : one.own) {
      body += fmt::format("<h2>{}</h2>\n", escape_html(table.title)) + html_of(table);
    }
  }
  return html_page("Published and simulated", body);
}

}  // namespace cortado::report
