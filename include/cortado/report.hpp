// Results as tables. A column is described once, and text, JSON, CSV, Markdown, pages and docs/json.md all follow from
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
  /// The text is not that of the value and the column alone.
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

/// A picture of a table in a page. Names are keys of columns, whose texts and units it has; the page draws it.
struct Chart {
  enum class Kind {
    bars,    ///< one for each row, its values on each other
    beside,  ///< one for each value of each row
    lines,   ///< a value over a label
    areas,   ///< values on each other over a label; each holds until that of the next row
    map,     ///< coloured fields over two labels
  };

  Kind kind = Kind::bars;
  std::string title{};
  std::vector<std::string> values{};  ///< one of lines; of a map one, a number or a word, which gives the colour
  std::vector<std::string> labels{};  ///< of bars: their texts together; of lines and areas one, of a map two: the axes
  /// Of lines: one for each combination of their texts; of areas: one picture for each; of a map: what fields say.
  std::vector<std::string> series{};
  std::string published{};       ///< of lines: a value that is drawn as rings
  std::string limit{};           ///< of areas: a value that is drawn across
  std::optional<double> most{};  ///< of bars: longer ones are cut off there, so that the others can be told apart
  std::string marked{};          ///< of bars: the text of the one to use
  std::string about{};           ///< how to read it
};

struct Table {
  std::string key = "rows";  ///< name of the list in JSON
  std::string meaning{};     ///< of the list, for docs/json.md
  std::string title{};       ///< line above it; may be empty
  std::vector<Column> columns{};
  std::vector<Row> rows{};
  std::vector<Chart> charts{};  ///< above it in a page
  bool data_only = false;       ///< in JSON, not in text, Markdown and pages, which have its charts, though

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

/// A timeline in a page.
struct TimelinePicture {
  std::string title;
  std::string trace;  ///< as perfetto_trace writes it
};

/// An answer: facts and tables, with what there is to say about them.
struct Document {
  std::string schema;  ///< "cortado.bench"
  int version = 1;     ///< of the schema
  std::string title{};
  std::vector<std::string> about{};  ///< lines below the title
  std::vector<Fact> facts{};         ///< what was asked and what is true of all rows; in JSON only
  std::vector<Table> tables{};
  std::vector<std::string> notes{};          ///< lines below the tables
  std::vector<std::string> answer{};         ///< lines that say what it means: last in text, first in HTML
  bool answer_first = false;                 ///< in text, too, instead of the title
  bool measured = false;                     ///< else predicted
  std::vector<TimelinePicture> timelines{};  ///< below the tables of a page
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

/// Where a page comes from; what is empty is left out.
struct PageOrigin {
  std::string command{};  ///< a line for a shell
  std::string version{};  ///< of Cortado
  std::string date{};
};

/// One page that needs nothing else: title, notes, tables, charts and timelines, with all data inside. Charts and
/// timelines need JavaScript, and are left out (the page says so) by a build without npm; the tables need nothing.
std::string to_html(const Document& document, const PageOrigin& origin = {});

/// Several answers in one page.
std::string to_html(const std::string& title, const std::vector<Document>& documents, const PageOrigin& origin = {});

/// What is too much for a page and left out of it, a line each: of a timeline, of rows.
std::vector<std::string> page_limits(const Document& document);

/// The part of docs/json.md on a document: its facts and columns with what they mean.
std::string json_reference(const Document& document);

// --- Traces ----------------------------------------------------------------------------------------------------------
//
// A Timeline as a Perfetto / Chrome JSON trace: open it at https://ui.perfetto.dev or chrome://tracing.
//
// One process per rank and one for the host, one thread per queue, named and in the order of the program. Slices carry
// bytes, command and iteration; arrows lead from a signal to the wait it released; bytes moved by DMA engines have the
// category "communication". Spans of one track that overlap (copies of a DMA queue may) are laid on further threads of
// the same name, because slices of one thread must not cross. Counters, such as watts by component, are tracks of their
// rank, or of the host if they have none.

/// The tracks of the timeline are matched with the program's queues by name, for the text of each command.
std::string perfetto_trace(const Timeline& timeline, const Program& program);

/// Timelines of one program in one trace: first all ranks of the one, then all ranks of the other. Processes are named
/// "measured rank 0", "simulated rank 0", ...
std::string side_by_side_trace(const Timeline& first, const Timeline& second, const Program& program);

// --- Objectives ------------------------------------------------------------------------------------------------------
//
// What ways to do the same thing are ranked by.

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

/// Nanoseconds, joules or joule seconds: less is better. Infinite where the energy is wanted and nobody counted it.
double cost_of(Nanoseconds time, const std::optional<EnergyUse>& energy, Objective objective);

// --- What studies say ------------------------------------------------------------------------------------------------

/// A policy, schedule or strategy that cannot do it.
struct SkippedWay {
  std::string name;
  Diagnostic reason;
};

// Power of a GEMM, of a collective and of both at once under policies of power management.

/// Watts of one GPU by component, in the order of kComponents: averages from `time` to the time of the next sample.
struct PowerSample {
  Nanoseconds time;
  std::array<double, kComponents.size()> watts{};

  double total() const;
};

/// Against the policy none, in percent.
struct PowerChange {
  double time = 0;
  double energy = 0;
};

struct PowerRow {
  std::string what;    ///< "gemm", "collective" or "both"
  std::string policy;  ///< of the power management; "unmanaged": clocks as the machine file has them
  EnergyUse use;       ///< of one iteration: energy of all GPUs, and the time
  /// Means of xcd, iod and hbm while anything ran, GHz; none where clocks are not managed.
  std::optional<std::array<double, 3>> clocks_ghz{};
  std::optional<double> peak_w{};        ///< greatest average of a control interval, of any GPU; none as above
  bool above_cap = false;                ///< it drew more than it may for longer than a control interval
  std::optional<PowerChange> change{};   ///< none for unmanaged runs
  std::optional<double> tflops{};        ///< of the GEMM on one GPU; none where there is no GEMM
  std::uint32_t iterations = 0;          ///< that were simulated; the second half of them counts
  std::vector<PowerSample> over_time{};  ///< of GPU 0, over all iterations; empty if nobody asked for it

  double time_us() const { return 1e6 * use.seconds; }
};

struct PowerReport {
  std::string gemm;        ///< "8192x8192x8192 bf16"; empty: none
  std::string collective;  ///< "all-gather"; empty: none
  Bytes bytes{};           ///< of its whole buffer
  std::string variant;     ///< of the collective
  std::string strategy{};  ///< of both, with what was decided; empty: launched at once
  std::uint32_t ranks = 0;
  std::string machine;
  std::string where;                ///< "simulated mi300x-8"
  double idle_w = 0;                ///< of a GPU on which nothing runs
  std::optional<double> cap_w{};    ///< of a board; none: not managed
  std::optional<double> limit_w{};  ///< of uniform-cap, if it is among the rows
  std::vector<PowerRow> rows;       ///< by what, then by policy; none is the first of each
  std::vector<SkippedWay> skipped;  ///< policies that the machine cannot do

  const PowerRow* row(std::string_view what, std::string_view policy) const;  ///< nullptr if there is none
};

/// "cortado.power"
Document power_document(const PowerReport& report);

}  // namespace cortado::report
