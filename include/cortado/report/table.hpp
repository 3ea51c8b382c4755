// Results as tables. A column is described once, and text, JSON, CSV, Markdown, HTML and docs/json.md all follow from
// that description. Example:
//
//   Document document{.schema = "cortado.copies", .title = "copies on mi300x-8"};
//   document.facts = {{"machine", machine.name, "modelled machine"}};
//   document.tables.push_back(table_of<Copy>(
//       "rows", "one per size",
//       {{{.key = "bytes", .head = "size", .unit = "B", .meaning = "bytes copied"},
//         [](const Copy& copy) { return copy.bytes; }},
//        {{.key = "time_us", .head = "time", .unit = "us", .digits = 1, .meaning = "of the copy"},
//         [](const Copy& copy) { return microseconds(copy.time); }}},
//       copies));
//   to_text(document);
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cortado/base/units.hpp"

namespace cortado::report {

/// How text, Markdown and HTML write numbers. JSON has all digits of the unscaled value, CSV ten of them.
enum class Notation {
  fixed,        ///< `digits` behind the point: 12.30
  with_sign,    ///< the same, with a sign unless it rounds to 0: +12.30
  significant,  ///< `digits` in total, and never fewer than a whole number has: 0.01230, 123456
  shortest,     ///< at most `digits` in total, or six, without trailing zeros: 12.3
};

/// Where a column appears.
enum class View {
  narrow,  ///< everywhere
  wide,    ///< everywhere but in narrow text
  data,    ///< in JSON and CSV only
};

enum class Align { automatic, left, right };  ///< automatic: words to the left, numbers to the right

struct Column {
  std::string key;        ///< name in JSON and CSV; a point nests: "energy_by_component.xcd"
  std::string head{};     ///< in text; words of it go below each other where the column is narrower
  std::string unit{};     ///< of what text shows; part of the heading
  int digits = 0;         ///< see Notation
  std::string meaning{};  ///< one line for docs/json.md
  View view = View::narrow;
  Notation notation = Notation::fixed;
  double scale = 1;       ///< text shows the value times this: 100 and unit "%" for a share
  std::string csv{};      ///< name in CSV, if it is not the key
  std::size_t width = 0;  ///< least width in text, for lines that are shown before all rows are known
  Align align = Align::automatic;
};

/// A value; empty is "-" in text, null in JSON and nothing in CSV, and so are numbers that are infinite or NaN.
class Cell {
 public:
  using List = std::vector<std::string>;
  using Value = std::variant<std::monostate, bool, std::int64_t, double, std::string, List>;

  Cell() = default;
  Cell(std::nullopt_t) {}
  Cell(bool value) : value_(value) {}
  Cell(std::integral auto value) : Cell(whole(value)) {}
  Cell(double value);
  Cell(Bytes value) : Cell(value.value) {}
  Cell(std::string value) : value_(std::move(value)) {}
  Cell(std::string_view value) : value_(std::string(value)) {}
  Cell(const char* value) : value_(std::string(value)) {}
  Cell(List value) : value_(std::move(value)) {}
  template <class T>
  Cell(const std::optional<T>& value) : Cell(value ? Cell(*value) : Cell()) {}

  /// With digits of its own.
  Cell with_digits(int digits) const;
  /// Text, Markdown and HTML show this instead of the value.
  Cell shown_as(std::string text) const;

  const Value& value() const { return value_; }
  bool empty() const { return std::holds_alternative<std::monostate>(value_); }
  std::string text(const Column& column) const;

 private:
  static Cell whole(std::int64_t value);
  static Cell whole(std::uint64_t value);
  static Cell whole(std::integral auto value) {
    if constexpr (std::signed_integral<decltype(value)>) return whole(static_cast<std::int64_t>(value));
    return whole(static_cast<std::uint64_t>(value));
  }

  Value value_;
  std::optional<int> digits_;
  std::optional<std::string> shown_;
};

using Row = std::vector<Cell>;

/// A picture of a table in HTML. Names are keys of columns.
struct TableChart {
  std::string title;
  std::string value;                  ///< what bars or lines show
  std::vector<std::string> labels{};  ///< of bars: their texts together; of lines: one, the horizontal axis
  std::vector<std::string> series{};  ///< of lines: one line for each combination of their texts; empty: bars
};

struct Table {
  std::string key = "rows";  ///< name of the list in JSON
  std::string meaning{};     ///< of the list, for docs/json.md
  std::string title{};       ///< line above it; may be empty
  std::vector<Column> columns{};
  std::vector<Row> rows{};
  std::optional<TableChart> chart{};
  std::string pictures{};  ///< HTML above it, <svg> elements for example
  bool data_only = false;  ///< in JSON, not in text, Markdown and HTML

  void add(Row row);                                               ///< as many cells as there are columns
  const Cell& at(std::size_t row, std::string_view column) const;  ///< by key; both exist
  std::size_t index_of(std::string_view column) const;             ///< by key; it exists
};

/// A column with where its value comes from.
template <class Item>
struct Field {
  Column column;
  std::function<Cell(const Item&)> value;
};

template <class Item>
Table table_of(std::string key, std::string meaning, const std::vector<Field<Item>>& fields,
               const std::vector<Item>& items) {
  Table table{.key = std::move(key), .meaning = std::move(meaning)};
  for (const Field<Item>& field : fields) table.columns.push_back(field.column);
  for (const Item& item : items) {
    Row row;
    for (const Field<Item>& field : fields) row.push_back(field.value(item));
    table.add(std::move(row));
  }
  return table;
}

/// A value that holds for the whole document.
struct Fact {
  std::string key;  ///< in JSON; a point nests
  Cell value;
  std::string meaning;  ///< one line for docs/json.md
  bool in_csv = false;  ///< it stands in front of every row of CSV
};

/// An answer: facts and tables, with what there is to say about them.
struct Document {
  std::string schema;  ///< "cortado.bench"
  int version = 1;     ///< of the schema
  std::string title{};
  std::vector<std::string> about{};  ///< lines below the title
  std::vector<Fact> facts{};         ///< what was asked and what is true of all rows; in JSON only
  std::vector<Table> tables{};
  std::vector<std::string> notes{};   ///< lines below the tables
  std::vector<std::string> answer{};  ///< lines that say what it means: last in text, first in HTML
  bool answer_first = false;          ///< in text, too, instead of the title
};

constexpr std::size_t kNarrow = 120;

struct TextOptions {
  bool wide = false;            ///< all columns, in lines of any length
  std::size_t width = kNarrow;  ///< longest line otherwise: long text is folded as far as it can be
  std::string_view indent{};    ///< of tables
  bool mark_heading = false;    ///< headings begin with '#' in place of a space; for numbers in the first column
};

std::string to_text(const Document& document, const TextOptions& options = {});
std::string to_text(const Table& table, const TextOptions& options = {});

/// Title and what is below it, or notes: lines that begin with "# ".
std::string comment_lines(const std::vector<std::string>& lines, const TextOptions& options = {});

/// The lines of a table one by one, for rows that are shown as they come; widths are those of the rows and of
/// Column::width so far.
class TableLines {
 public:
  TableLines(const Table& table, const TextOptions& options);

  std::string heading() const;
  std::string line(const Row& row) const;  ///< several lines if text is folded

 private:
  struct Shown {
    std::size_t index;
    std::size_t width;
    bool right;
  };
  std::size_t total() const;
  void fit(const Table& table);
  std::string joined(const std::vector<std::vector<std::string>>& cells, bool from_below) const;

  std::vector<Column> columns_;
  std::vector<Shown> shown_;
  TextOptions options_;
};

std::string to_json(const Document& document);

/// The first table.
std::string to_csv(const Document& document);

std::string to_markdown(const Table& table);

/// One page that needs nothing else: title, notes, tables and their charts.
std::string to_html(const Document& document);

/// The part of docs/json.md on a document: its facts and columns with what they mean.
std::string json_reference(const Document& document);

}  // namespace cortado::report
