// Tables for programs: JSON and CSV, and what their keys mean.
#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "report/table_json.hpp"

namespace cortado::report {
namespace {

/// Sets "a.b" as b of the object a. An object without any value stays null.
void set(const std::string& key, const Cell& cell, Json& object) {
  const std::size_t point = key.find('.');
  if (point == std::string::npos) {
    CORTADO_CHECK(!object.contains(key), "two values of an object have one name");
    object[key] = json_of(cell);
    return;
  }
  Json& inner = object[key.substr(0, point)];
  if (!cell.empty() || inner.is_object()) set(key.substr(point + 1), cell, inner);
}

std::string csv_text(const Cell& cell) {
  if (cell.empty()) return {};
  if (const auto* number = std::get_if<double>(&cell.value())) return fmt::format("{:.10g}", *number);
  std::string text;
  if (const auto* list = std::get_if<Cell::List>(&cell.value())) {
    text = join(*list);
  } else if (const auto* word = std::get_if<std::string>(&cell.value())) {
    text = *word;
  } else {
    return json_of(cell).dump();
  }
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string reference_line(const std::string& key, const std::string& meaning) {
  CORTADO_CHECK(!meaning.empty(), "every key of JSON has a meaning");
  return fmt::format("| `{}` | {} |\n", key, meaning);
}

constexpr const char* kReferenceHead = "| field | meaning |\n|---|---|\n";

}  // namespace

Json json_of(const Cell& cell) {
  return std::visit(
      [](const auto& value) -> Json {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>) {
          return nullptr;
        } else {
          return value;
        }
      },
      cell.value());
}

Json json_of(const Table& table) {
  // Where "a" is a value, "a.b" is not in an object a.
  std::vector<bool> nested;
  for (const Column& column : table.columns) {
    nested.push_back(std::ranges::none_of(
        table.columns, [&](const Column& other) { return column.key.starts_with(other.key + '.'); }));
  }
  Json rows = Json::array();
  for (const Row& row : table.rows) {
    Json object = Json::object();
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (nested[c]) {
        set(table.columns[c].key, row[c], object);
      } else {
        object[table.columns[c].key] = json_of(row[c]);
      }
    }
    rows.push_back(std::move(object));
  }
  return rows;
}

Json json_of(const Document& document) {
  Json json{{"schema", document.schema}, {"version", document.version}};
  for (const Fact& fact : document.facts) set(fact.key, fact.value, json);
  for (const Table& table : document.tables) json[table.key] = json_of(table);
  return json;
}

std::string dumped(const Json& json) {
  return json.dump(2) + "\n";
}

std::string to_json(const Document& document) {
  return dumped(json_of(document));
}

std::string to_csv(const Document& document) {
  CORTADO_CHECK(!document.tables.empty(), "CSV needs a table");
  const Table& table = document.tables.front();
  std::vector<std::string> names;
  std::vector<std::string> shared;
  for (const Fact& fact : document.facts) {
    if (!fact.in_csv) continue;
    names.push_back(fact.key);
    shared.push_back(csv_text(fact.value));
  }
  for (const Column& column : table.columns) names.push_back(csv_text(column.csv.empty() ? column.key : column.csv));
  std::string text = join(names, ",") + "\n";
  for (const Row& row : table.rows) {
    std::vector<std::string> cells = shared;
    for (const Cell& cell : row) cells.push_back(csv_text(cell));
    text += join(cells, ",") + "\n";
  }
  return text;
}

std::string json_reference(const Document& document) {
  std::string text = kReferenceHead;
  text += fmt::format("| `schema`, `version` | `{}`, {} |\n", document.schema, document.version);
  for (const Fact& fact : document.facts) text += reference_line(fact.key, fact.meaning);
  for (const Table& table : document.tables) text += reference_line(table.key, table.meaning);
  for (const Table& table : document.tables) {
    text += fmt::format("\nRows of `{}`:\n\n{}", table.key, kReferenceHead);
    for (const Column& column : table.columns) text += reference_line(column.key, column.meaning);
  }
  return text;
}

}  // namespace cortado::report
