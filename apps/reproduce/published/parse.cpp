#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text.hpp"
#include "reproduce/published/published.hpp"
#include "reproduce/published/reader.hpp"

namespace cortado::published {
namespace {

void read_rows(Reader& in, const std::string& where, Table& table) {
  const toml::array* rows = in.array("rows");
  if (rows == nullptr) return;
  for (const toml::node& node : *rows) {
    const toml::table* row = node.as_table();
    if (row == nullptr) return in.refuse("rows", "must hold tables of size and values");
    Reader reader(*row, where);
    table.sizes.push_back(reader.size("size"));
    auto& values = table.values.emplace_back();
    if (const toml::array* cells = reader.array("values")) {
      for (const toml::node& cell : *cells) {
        values.push_back(cell.value<double>());
        if (!values.back() || !std::isfinite(*values.back())) reader.refuse("values", "must be numbers");
      }
    }
    if (values.size() != table.columns.size()) reader.refuse("values", "must have one number for each column");
    in.adopt(reader);
  }
}

void leave_out(Reader& in, const toml::table& source, const std::string& where, Table& table) {
  if (!source.contains("left_out")) return;
  const toml::array* points = in.array("left_out");
  if (points == nullptr) return;
  for (const toml::node& node : *points) {
    const toml::table* point = node.as_table();
    if (point == nullptr) return in.refuse("left_out", "must hold tables of size and column");
    Reader reader(*point, where);
    const Bytes size = reader.size("size");
    const auto row = std::find(table.sizes.begin(), table.sizes.end(), size);
    const auto column = std::find(table.columns.begin(), table.columns.end(), reader.text("column"));
    if (row == table.sizes.end() || column == table.columns.end()) {
      return in.refuse("left_out", "must name a size and a column of the table");
    }
    table
        .values[static_cast<std::size_t>(row - table.sizes.begin())]
               [static_cast<std::size_t>(column - table.columns.begin())]
        .reset();
    in.adopt(reader);
  }
}

Result<Table> read_table(const toml::table& source, const std::string& file) {
  const std::string where = fmt::format("{}: table {}", file, source["name"].value_or(std::string("without name")));
  Reader in(source, where);
  Table table;
  table.name = in.text("name");
  table.title = in.text("title");
  table.unit = in.text("unit");
  table.errors = in.errors();
  table.source = in.source();
  table.used_for = in.used_for();
  table.goal_mean = in.number_if("goal_mean");
  table.goal_worst = in.number_if("goal_worst");
  if (const toml::array* columns = in.array("columns")) {
    for (const toml::node& column : *columns) table.columns.push_back(column.value_or(std::string()));
  }
  read_rows(in, where, table);
  if (!in.error()) leave_out(in, source, where, table);
  if (in.error()) return fail(*in.error());
  return table;
}

Result<Figure> read_figure(const toml::table& source, const std::string& file) {
  Reader in(source, fmt::format("{}: figure {}", file, source["name"].value_or(std::string("without name"))));
  Figure figure;
  figure.name = in.text("name");
  figure.title = in.text("title");
  figure.unit = in.text("unit");
  figure.published = in.number("published");
  figure.published_to = in.number_if("published_to");
  if (source.contains("errors")) figure.errors = in.errors();
  figure.source = in.source();
  figure.used_for = in.used_for();
  figure.goal = in.number_if("goal");
  if (in.error()) return fail(*in.error());
  return figure;
}

}  // namespace

Result<Publication> parse_publication(const std::string& text, const std::string& file) {
  CORTADO_ASSIGN_OR_RETURN(const toml::table root, parse_toml(text, file));
  const toml::table* head = root["publication"].as_table();
  if (head == nullptr) return fail("published.value", fmt::format("{}: [publication] is missing", file), "add it");
  Reader in(*head, file + ": publication");
  Publication publication{in.text("name"), in.text("title"), in.text("machine"), in.text("source"), {}, {}};
  if (in.error()) return fail(*in.error());
  CORTADO_ASSIGN_OR_RETURN(publication.tables, read_tables<Table>(root, "table", file, read_table));
  CORTADO_ASSIGN_OR_RETURN(publication.figures, read_tables<Figure>(root, "figure", file, read_figure));
  return publication;
}

}  // namespace cortado::published
