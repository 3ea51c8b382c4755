// Tables for documents: Markdown and HTML.
#include <algorithm>

#include <fmt/format.h>

#include "cortado/report.hpp"

#include "base/check.hpp"
#include "base/text.hpp"
#include "report/chart.hpp"
#include "report/html_page.hpp"
#include "report/svg.hpp"

namespace cortado::report {
namespace {

constexpr double kRowBarWidth = 860;
constexpr double kRowBarStep = 22;
constexpr double kRowBarTop = 34;
constexpr double kRowBarLetter = 6.6;  // width, about
constexpr double kRowBarValue = 80;    // room for the number behind a bar

bool is_visible(const Table& table, std::size_t column) {
  if (table.columns[column].view == View::data) return false;
  return table.rows.empty() || std::ranges::any_of(table.rows, [&](const Row& row) { return !row[column].empty(); });
}

std::vector<std::string> visible_heads(const Table& table) {
  std::vector<std::string> heads;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const Column& column = table.columns[c];
    if (is_visible(table, c)) heads.push_back(column.unit.empty() ? column.head : column.head + " " + column.unit);
  }
  return heads;
}

std::vector<std::string> visible_texts(const Table& table, const Row& row) {
  std::vector<std::string> texts;
  for (std::size_t c = 0; c < row.size(); ++c) {
    if (is_visible(table, c)) texts.push_back(row[c].text(table.columns[c]));
  }
  return texts;
}

std::string markdown_line(const std::vector<std::string>& cells) {
  std::vector<std::string> escaped;
  for (const std::string& cell : cells) {
    std::string& text = escaped.emplace_back();
    for (const char c : cell) {
      if (c == '|') text += '\\';
      text += c == '\n' ? ' ' : c;
    }
  }
  return "| " + join(escaped, " | ") + " |\n";
}

std::string label_of(const Table& table, const Row& row, const std::vector<std::string>& keys) {
  std::vector<std::string> parts;
  for (const std::string& key : keys) {
    const std::size_t index = table.index_of(key);
    const Column& column = table.columns[index];
    // "yes" and "no" say nothing without their column.
    const auto* yes = std::get_if<bool>(&row[index].value());
    if (yes == nullptr) parts.push_back(row[index].text(column));
    if (yes != nullptr && *yes) parts.push_back(column.head);
  }
  return join(parts, " ");
}

std::optional<double> number_of(const Cell& cell, const Column& column) {
  if (const auto* number = std::get_if<double>(&cell.value())) return *number * column.scale;
  if (const auto* whole = std::get_if<std::int64_t>(&cell.value())) return static_cast<double>(*whole) * column.scale;
  return {};
}

/// One bar a row, below each other: names of rows may be long.
std::string bars(const Table& table, const TableChart& chart) {
  const std::size_t value = table.index_of(chart.value);
  const Column& column = table.columns[value];
  double most = 0;
  std::size_t letters = 0;
  for (const Row& row : table.rows) {
    most = std::max(most, number_of(row[value], column).value_or(0));
    letters = std::max(letters, label_of(table, row, chart.labels).size());
  }
  const double left = 12 + kRowBarLetter * static_cast<double>(letters);
  const double room = std::max(kRowBarWidth - left - kRowBarValue, kRowBarValue);
  const double height = kRowBarTop + kRowBarStep * static_cast<double>(table.rows.size()) + 8;
  std::string out = fmt::format("<svg viewBox='0 0 {:.0f} {:.0f}' role='img' aria-label='{}'>\n",
                                left + room + kRowBarValue, height, escape_html(chart.title));
  out += fmt::format("<text x='6' y='20' class='title'>{}, {}</text>\n", escape_html(chart.title),
                     escape_html(column.unit));
  double y = kRowBarTop;
  for (const Row& row : table.rows) {
    const double length = most > 0 ? room * std::max(number_of(row[value], column).value_or(0), 0.0) / most : 0;
    out += axis_text(left - 6, y + 13, "end", label_of(table, row, chart.labels));
    out += fmt::format("<rect x='{:.1f}' y='{:.1f}' width='{:.1f}' height='{:.1f}' fill='{}'/>\n", left, y, length,
                       kRowBarStep - 6, series_colour(0));
    out += axis_text(left + length + 6, y + 13, "start", row[value].text(column));
    y += kRowBarStep;
  }
  return out + "</svg>\n";
}

template <class T>
std::size_t place_of(const std::string& name, std::vector<T>& all, const auto& name_in, const auto& make) {
  const auto found = std::ranges::find(all, name, name_in);
  if (found != all.end()) return static_cast<std::size_t>(found - all.begin());
  all.push_back(make(name));
  return all.size() - 1;
}

/// Lines over the texts of a column, which need not all have a value.
std::string lines(const Table& table, const TableChart& chart) {
  const std::size_t value = table.index_of(chart.value);
  const Column& column = table.columns[value];
  Chart drawn{chart.title, column.unit, {}, {}};
  for (const Row& row : table.rows) {
    place_of(label_of(table, row, chart.labels), drawn.positions, std::identity(), std::identity());
  }
  for (const Row& row : table.rows) {
    const std::size_t series =
        place_of(label_of(table, row, chart.series), drawn.series, &ChartSeries::name, [&](const std::string& name) {
          return ChartSeries{name, std::vector<std::optional<double>>(drawn.positions.size()), {}};
        });
    const std::size_t position =
        place_of(label_of(table, row, chart.labels), drawn.positions, std::identity(), std::identity());
    drawn.series[series].line[position] = number_of(row[value], column);
  }
  return svg(drawn);
}

std::string paragraphs(const std::vector<std::string>& all, std::string_view attributes) {
  std::string out;
  for (const std::string& one : all) out += fmt::format("<p{}>{}</p>\n", attributes, escape_html(one));
  return out;
}

}  // namespace

std::string to_markdown(const Table& table) {
  const std::vector<std::string> heads = visible_heads(table);
  std::string text = markdown_line(heads) + markdown_line(std::vector<std::string>(heads.size(), "---"));
  for (const Row& row : table.rows) text += markdown_line(visible_texts(table, row));
  return text;
}

std::string html_of(const Table& table) {
  std::vector<std::vector<std::string>> rows;
  for (const Row& row : table.rows) rows.push_back(visible_texts(table, row));
  return html_table(visible_heads(table), rows);
}

std::string to_html(const Document& document) {
  std::string body = fmt::format("<h1>{}</h1>\n", escape_html(document.title));
  body += paragraphs(document.about, "");
  body += paragraphs(document.answer, "");
  for (const Table& table : document.tables) {
    if (table.data_only) continue;
    if (!table.title.empty()) body += fmt::format("<h2>{}</h2>\n", escape_html(table.title));
    if (table.chart && !table.rows.empty()) {
      body += table.chart->series.empty() ? bars(table, *table.chart) : lines(table, *table.chart);
    }
    body += table.pictures + html_of(table);
  }
  body += paragraphs(document.notes, " class='source'");
  return html_page(document.title, body);
}

}  // namespace cortado::report
