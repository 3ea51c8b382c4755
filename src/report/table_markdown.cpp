// Tables in Markdown.
#include <fmt/format.h>

#include "cortado/report.hpp"

#include "base/text.hpp"
#include "report/visible.hpp"

namespace cortado::report {
namespace {

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

}  // namespace

std::string to_markdown(const Table& table) {
  const std::vector<std::size_t> columns = visible_columns(table);
  std::vector<std::string> heads;
  for (const std::size_t c : columns) {
    const Column& column = table.columns[c];
    heads.push_back(column.unit.empty() ? column.head : column.head + " " + column.unit);
  }
  std::string text = markdown_line(heads) + markdown_line(std::vector<std::string>(heads.size(), "---"));
  for (const Row& row : table.rows) {
    std::vector<std::string> cells;
    for (const std::size_t column : columns) cells.push_back(row[column].text(table.columns[column]));
    text += markdown_line(cells);
  }
  return text;
}

}  // namespace cortado::report
