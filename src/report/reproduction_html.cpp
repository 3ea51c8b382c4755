#include <cmath>

#include <fmt/format.h>

#include "cortado/base/text.hpp"
#include "cortado/report/reproduction.hpp"

#include "report/chart.hpp"
#include "report/html_page.hpp"
#include "report/svg.hpp"

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

const char* unit_of(published::Errors errors) {
  return errors == published::Errors::points ? "points" : "%";
}

std::string summary(const Reproduction& reproduction) {
  std::string out = "<table>\n" + html_row({"what", "published", "ours", "error", "goal", "used for"}, "th");
  for (const ReproducedTable& table : reproduction.tables) {
    const char* unit = unit_of(table.published.errors);
    const std::string error =
        fmt::format("mean {:.1f}, worst {:.1f} {}", table.mean_error(), table.worst_error(), unit);
    std::vector<std::string> goals;
    if (table.published.goal_mean) goals.push_back(fmt::format("mean {}", *table.published.goal_mean));
    if (table.published.goal_worst) goals.push_back(fmt::format("worst {}", *table.published.goal_worst));
    out += html_row({escape_html(table.published.title), "table", "table",
                     fmt::format("<span class='{}'>{}</span>", table.goal() == Goal::missed ? "far" : "", error),
                     join(goals), published::to_string(table.published.used_for)},
                    "td");
  }
  for (const ReproducedFigure& figure : reproduction.figures) {
    const ReproducedRow values = figure.row();
    const char* unit = unit_of(values.errors);
    out += html_row({escape_html(figure.published.title),
                     fmt::format("{:g}", values.published) +
                         (figure.published.published_to ? fmt::format(" to {:g}", *figure.published.published_to) : ""),
                     fmt::format("{:.2f}", values.ours),
                     fmt::format("<span class='{}'>{:+.1f} {}</span>", figure.goal() == Goal::missed ? "far" : "",
                                 values.error, unit),
                     figure.published.goal ? fmt::format("{:g} {}", *figure.published.goal, unit) : std::string(),
                     published::to_string(values.used_for)},
                    "td");
  }
  return out + "</table>\n";
}

std::string section(const ReproducedTable& table) {
  std::string out =
      fmt::format("<h2>{}</h2>\n<p class='source'>Source: {}. Used for {}.</p>\n", escape_html(table.published.title),
                  escape_html(table.published.source.text), published::to_string(table.published.used_for));
  out += svg(chart_of(table));
  std::vector<std::string> header{"size"};
  for (const std::string& column : table.published.columns) header.push_back(escape_html(column));
  out += "<details><summary>All numbers: published / ours</summary>\n<table>\n" + html_row(header, "th");
  for (std::size_t i = 0; i < table.published.sizes.size(); ++i) {
    std::vector<std::string> cells{format_bytes(table.published.sizes[i])};
    for (std::size_t j = 0; j < header.size() - 1; ++j) {
      const auto& value = table.published.values[i][j];
      cells.push_back(fmt::format("{} / {:.2f}", value ? fmt::format("{:g}", *value) : "left out", table.ours[i][j]));
    }
    out += html_row(cells, "td");
  }
  return out + "</table></details>\n";
}

std::string section(const OwnTable& table) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& one : table.rows) rows.push_back(table.texts(one));
  return fmt::format("<h2>{}</h2>\n", escape_html(table.title)) + html_table(table.column_names(), rows);
}

}  // namespace

std::string reproduction_html(const std::vector<Reproduction>& all) {
  std::string body;
  for (const Reproduction& one : all) {
    body += fmt::format("<h1>{}</h1>\n<p>Published numbers beside ours, simulated on {}. Source: {}.</p>\n",
                        escape_html(one.title), escape_html(one.machine), escape_html(one.source));
    body += summary(one);
    for (const ReproducedTable& table : one.tables) body += section(table);
    for (const OwnTable& table : one.own) body += section(table);
  }
  return html_page("Published and simulated", body);
}

}  // namespace cortado::report
