#include <cmath>

#include <fmt/format.h>

#include "cortado/base/text.hpp"
#include "cortado/report/reproduction.hpp"

#include "report/chart.hpp"

namespace cortado::report {
namespace {

constexpr const char* kStyle = R"(
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; }
svg { width: 100%; height: auto; border: 1px solid #ddd; border-radius: 6px; background: #fff; }
.title { font-weight: 600; font-size: 14px; } .tick { font-size: 11.5px; fill: #555; } .grid { stroke: #e6e6e6; }
table { border-collapse: collapse; font-size: 13px; margin: 1rem 0; } td, th { padding: .2rem .6rem; text-align: right; }
td:first-child, th:first-child { text-align: left; } tr:nth-child(even) { background: #f6f6f6; }
.far { color: #b00020; font-weight: 600; } .source { color: #666; font-size: 13px; }
)";

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

std::string row(const std::vector<std::string>& cells, const char* tag) {
  std::string out = "<tr>";
  for (const std::string& cell : cells) out += fmt::format("<{0}>{1}</{0}>", tag, cell);
  return out + "</tr>\n";
}

const char* unit_of(published::Errors errors) {
  return errors == published::Errors::points ? "points" : "%";
}

std::string summary(const Reproduction& reproduction) {
  std::string out = "<table>\n" + row({"what", "published", "ours", "error", "goal", "used for"}, "th");
  for (const ReproducedTable& table : reproduction.tables) {
    const char* unit = unit_of(table.published.errors);
    const std::string error =
        fmt::format("mean {:.1f}, worst {:.1f} {}", table.mean_error(), table.worst_error(), unit);
    std::vector<std::string> goals;
    if (table.published.goal_mean) goals.push_back(fmt::format("mean {}", *table.published.goal_mean));
    if (table.published.goal_worst) goals.push_back(fmt::format("worst {}", *table.published.goal_worst));
    out += row({escape_html(table.published.title), "table", "table",
                fmt::format("<span class='{}'>{}</span>", table.reached() ? "" : "far", error), join(goals),
                published::to_string(table.published.used_for)},
               "td");
  }
  for (const ReproducedFigure& figure : reproduction.figures) {
    const ReproducedRow values = figure.row();
    const char* unit = unit_of(values.errors);
    out += row({escape_html(figure.published.title),
                fmt::format("{:g}", values.published) +
                    (figure.published.published_to ? fmt::format(" to {:g}", *figure.published.published_to) : ""),
                fmt::format("{:.2f}", values.ours),
                fmt::format("<span class='{}'>{:+.1f} {}</span>", figure.reached() ? "" : "far", values.error, unit),
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
  out += "<details><summary>All numbers: published / ours</summary>\n<table>\n" + row(header, "th");
  for (std::size_t i = 0; i < table.published.sizes.size(); ++i) {
    std::vector<std::string> cells{format_bytes(table.published.sizes[i])};
    for (std::size_t j = 0; j < header.size() - 1; ++j) {
      const auto& value = table.published.values[i][j];
      cells.push_back(fmt::format("{} / {:.2f}", value ? fmt::format("{:g}", *value) : "left out", table.ours[i][j]));
    }
    out += row(cells, "td");
  }
  return out + "</table></details>\n";
}

std::string section(const OwnTable& table) {
  const auto escaped = [](std::vector<std::string> texts) {
    for (std::string& text : texts) text = escape_html(text);
    return texts;
  };
  std::string out = fmt::format("<h2>{}</h2>\n<table>\n", escape_html(table.title));
  out += row(escaped(table.column_names()), "th");
  for (const auto& one : table.rows) out += row(escaped(table.texts(one)), "td");
  return out + "</table>\n";
}

}  // namespace

std::string reproduction_html(const std::vector<Reproduction>& all) {
  std::string out = fmt::format(
      "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><title>Published and simulated</title>\n"
      "<style>{}</style></head>\n<body>\n",
      kStyle);
  for (const Reproduction& one : all) {
    out += fmt::format("<h1>{}</h1>\n<p>Published numbers beside ours, simulated on {}. Source: {}.</p>\n",
                       escape_html(one.title), escape_html(one.machine), escape_html(one.source));
    out += summary(one);
    for (const ReproducedTable& table : one.tables) out += section(table);
    for (const OwnTable& table : one.own) out += section(table);
  }
  return out + "</body></html>\n";
}

}  // namespace cortado::report
