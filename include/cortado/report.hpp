// Results as tables. A column is described once; text, JSON, CSV, Markdown, pages and docs/json.md all follow from
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

#include <array>
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

#include "cortado/machine.hpp"
#include "cortado/program.hpp"
#include "cortado/result.hpp"
#include "cortado/timeline.hpp"

namespace cortado::report {

/// How text, Markdown and HTML write numbers. JSON has all digits of the unscaled value, CSV ten of them.
enum class Notation {
  fixed,        ///< `digits` after the point: 12.30
  with_sign,    ///< the same, with a sign unless it rounds to 0: +12.30
  significant,  ///< `digits` in total, but all digits of whole numbers: 0.01230, 123456
  shortest,     ///< at most `digits` in total, or six, without trailing zeros: 12.3
};

/// Where a column appears.
enum class View {
  narrow,  ///< everywhere
  wide,    ///< everywhere except in narrow text
  data,    ///< only in JSON and CSV
};

enum class Align { automatic, left, right };  ///< automatic: words left, numbers right

struct Column {
  std::string key;        ///< name in JSON and CSV; a point nests: "energy_by_component.xcd"
  std::string head{};     ///< in text; its words are stacked if the column is narrower
  std::string unit{};     ///< of the value in text; part of the heading
  int digits = 0;         ///< see Notation
  std::string meaning{};  ///< one line for docs/json.md
  View view = View::narrow;
  Notation notation = Notation::fixed;
  double scale = 1;       ///< text shows the value times this: 100 and unit "%" for a share
  std::string csv{};      ///< name in CSV, if different from the key
  std::size_t width = 0;  ///< minimum width in text, for lines that are printed before all rows are known
  Align align = Align::automatic;
};

/// A value. Empty values, infinity and NaN are "-" in text, null in JSON and nothing in CSV.
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

  /// With its own number of digits.
  Cell with_digits(int digits) const;
  /// Text, Markdown and HTML show this instead of the value.
  Cell shown_as(std::string text) const;

  const Value& value() const { return value_; }
  bool empty() const { return std::holds_alternative<std::monostate>(value_); }
  std::string text(const Column& column) const;
  /// The text does not follow from value and column alone.
  bool has_own_text() const { return shown_.has_value() || digits_.has_value(); }

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

/// A chart of a table in a page. Names are keys of columns, whose texts and units it uses; the page draws it.
struct Chart {
  enum class Kind {
    bars,    ///< one bar per row, its values stacked
    beside,  ///< one bar per value of each row
    lines,   ///< a value over a label
    areas,   ///< stacked values over a label; each holds until the next row
    map,     ///< coloured fields over two labels
  };

  Kind kind = Kind::bars;
  std::string title{};
  std::vector<std::string> values{};  ///< lines: one; map: one, a number or a word, which gives the colour
  std::vector<std::string> labels{};  ///< bars: their texts joined; lines and areas: one axis; map: two axes
  /// Lines: one for each combination of their texts; areas: one chart for each; map: the text of fields.
  std::vector<std::string> series{};
  std::string published{};       ///< lines: a value drawn as rings
  std::string limit{};           ///< areas: a value drawn as a horizontal line
  std::optional<double> most{};  ///< bars: longer ones are cut off here, so that the others remain distinguishable
  std::string marked{};          ///< bars: the text of the recommended one
  std::string about{};           ///< how to read it
};

struct Table {
  std::string key = "rows";  ///< name of the list in JSON
  std::string meaning{};     ///< of the list, for docs/json.md
  std::string title{};       ///< line above it; may be empty
  std::vector<Column> columns{};
  std::vector<Row> rows{};
  std::vector<Chart> charts{};  ///< above it in a page
  bool data_only = false;       ///< only in JSON; pages still have its charts

  void add(Row row);                                               ///< one cell per column
  const Cell& at(std::size_t row, std::string_view column) const;  ///< by key; both must exist
  std::size_t index_of(std::string_view column) const;             ///< by key; must exist
};

/// A column and the source of its values.
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
  bool in_csv = false;  ///< repeated in front of every row of CSV
};

/// A timeline in a page.
struct TimelinePicture {
  std::string title;
  std::string trace;  ///< as perfetto_trace writes it
};

/// A result: facts and tables, with explanations.
struct Document {
  std::string schema;  ///< "cortado.bench"
  int version = 1;     ///< of the schema
  std::string title{};
  std::vector<std::string> about{};  ///< lines below the title
  std::vector<Fact> facts{};         ///< the request and values that hold for all rows; only in JSON
  std::vector<Table> tables{};
  std::vector<std::string> notes{};          ///< lines below the tables
  std::vector<std::string> answer{};         ///< lines with the conclusion: last in text, first in HTML
  bool answer_first = false;                 ///< also first in text, instead of the title
  bool measured = false;                     ///< otherwise predicted
  std::vector<TimelinePicture> timelines{};  ///< below the tables of a page
};

constexpr std::size_t kNarrow = 120;

struct TextOptions {
  bool wide = false;            ///< all columns, in lines of any length
  std::size_t width = kNarrow;  ///< otherwise the longest line: long text is wrapped if possible
  std::string_view indent{};    ///< of tables
  bool mark_heading = false;    ///< headings begin with '#' instead of a space; for numbers in the first column
};

std::string to_text(const Document& document, const TextOptions& options = {});
std::string to_text(const Table& table, const TextOptions& options = {});

/// Title and the lines below it, or notes: lines that begin with "# ".
std::string comment_lines(const std::vector<std::string>& lines, const TextOptions& options = {});

/// The lines of a table one by one, for rows that are printed as they arrive; widths follow from the rows so far and
/// from Column::width.
class TableLines {
 public:
  TableLines(const Table& table, const TextOptions& options);

  std::string heading() const;
  std::string line(const Row& row) const;  ///< several lines if text is wrapped

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

/// Origin of a page; empty fields are left out.
struct PageOrigin {
  std::string command{};  ///< a line for a shell
  std::string version{};  ///< of Cortado
  std::string date{};
};

/// One self-contained page: title, notes, tables, charts and timelines, with all data inside. Charts and
/// timelines need JavaScript, and a build without npm leaves them out (the page says so); tables always work.
std::string to_html(const Document& document, const PageOrigin& origin = {});

/// Several documents in one page.
std::string to_html(const std::string& title, const std::vector<Document>& documents, const PageOrigin& origin = {});

/// What is too large for a page and was left out, one line each: timelines, rows.
std::vector<std::string> page_limits(const Document& document);

/// The part of docs/json.md about a document: its facts and columns with their meaning.
std::string json_reference(const Document& document);

// --- Traces ----------------------------------------------------------------------------------------------------------
//
// A Timeline as a Perfetto / Chrome JSON trace: open it at https://ui.perfetto.dev or chrome://tracing.
//
// One process per rank and one for the host, one thread per queue, named and in the order of the program. Slices carry
// bytes, command and iteration; arrows lead from a signal to the wait it released; bytes moved by DMA engines have the
// category "communication". Overlapping spans of one track (copies of a DMA queue may overlap) go to further threads of
// the same name, because slices of one thread must not cross. Counters, such as watts by component, are tracks of their
// rank, or of the host if they have none.

/// The tracks of the timeline are matched with the program's queues by name, for the text of each command.
std::string perfetto_trace(const Timeline& timeline, const Program& program);

/// Timelines of one program in one trace: first all ranks of the one, then all ranks of the other. Processes are named
/// "measured rank 0", "simulated rank 0", ...
std::string side_by_side_trace(const Timeline& first, const Timeline& second, const Program& program);

// --- Objectives ------------------------------------------------------------------------------------------------------
//
// Criteria for ranking alternatives.

enum class Objective {
  time,
  energy,  ///< of all GPUs
  edp,     ///< energy-delay product: energy times time
};

inline constexpr std::array<std::pair<std::string_view, Objective>, 3> kObjectives{
    {{"time", Objective::time}, {"energy", Objective::energy}, {"edp", Objective::edp}}};

constexpr std::string_view name_of(Objective objective) {
  return kObjectives[static_cast<std::size_t>(objective)].first;
}

constexpr std::optional<Objective> find_objective(std::string_view name) {
  for (const auto& [known, objective] : kObjectives) {
    if (known == name) return objective;
  }
  return std::nullopt;
}

/// Nanoseconds, joules or joule seconds: less is better. Infinite if energy is needed but was not counted.
double cost_of(Nanoseconds time, const std::optional<EnergyUse>& energy, Objective objective);

// --- Results of studies ----------------------------------------------------------------------------------------------

/// A policy, schedule or strategy that does not work for the request.
struct SkippedWay {
  std::string name;
  Diagnostic reason;
};

// Power of a GEMM, of a collective and of both at once under power policies.

/// Watts of one GPU by component, in the order of kComponents: averages from `time` to the time of the next sample.
struct PowerSample {
  Nanoseconds time;
  std::array<double, kComponents.size()> watts{};

  double total() const;
};

/// Relative to the policy none, in percent.
struct PowerChange {
  double time = 0;
  double energy = 0;
};

struct PowerRow {
  std::string what;    ///< "gemm", "collective" or "both"
  std::string policy;  ///< power policy; "unmanaged": clocks of the machine file
  EnergyUse use;       ///< of one iteration: energy of all GPUs, and the time
  /// Means of xcd, iod and hbm while anything ran, GHz; none if clocks are not managed.
  std::optional<std::array<double, 3>> clocks_ghz{};
  std::optional<double> peak_w{};        ///< highest average of a control interval, of any GPU; none as above
  bool above_cap = false;                ///< it drew more than allowed for longer than a control interval
  std::optional<PowerChange> change{};   ///< none for unmanaged runs
  std::optional<double> tflops{};        ///< of the GEMM on one GPU; none without a GEMM
  std::uint32_t iterations = 0;          ///< simulated iterations; the second half counts
  std::vector<PowerSample> over_time{};  ///< of GPU 0, over all iterations; empty if not requested

  double time_us() const { return 1e6 * use.seconds; }
};

struct PowerReport {
  std::string gemm;        ///< "8192x8192x8192 bf16"; empty: none
  std::string collective;  ///< "all-gather"; empty: none
  Bytes bytes{};           ///< of its whole buffer
  std::string variant;     ///< of the collective
  std::string strategy{};  ///< of both, with its decisions; empty: launched at once
  std::uint32_t ranks = 0;
  std::string machine;
  std::string where;                ///< "simulated mi300x-8"
  double idle_w = 0;                ///< of an idle GPU
  std::optional<double> cap_w{};    ///< of a board; none: not managed
  std::optional<double> limit_w{};  ///< of uniform-cap, if it is among the rows
  std::vector<PowerRow> rows;       ///< by what, then by policy; none is the first of each
  std::vector<SkippedWay> skipped;  ///< policies that the machine does not support

  const PowerRow* row(std::string_view what, std::string_view policy) const;  ///< nullptr if there is none
};

/// "cortado.power"
Document power_document(const PowerReport& report);

}  // namespace cortado::report
