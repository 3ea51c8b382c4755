// What a question answers at one point, as a database takes it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cortado/report.hpp"
#include "cortado/result.hpp"

#include "sweep/spec.hpp"

namespace cortado::sweep {

/// Name of the table that holds what is true of all rows of an answer.
inline constexpr std::string_view kFacts = "facts";

struct LayoutColumn {
  std::string name;  ///< as in JSON, with points: "energy_by_component.xcd"
  std::string meaning;

  bool operator==(const LayoutColumn&) const = default;
};

/// A table of answers.
struct Layout {
  std::string table;
  std::vector<LayoutColumn> columns;

  bool operator==(const Layout&) const = default;
};

/// Rows of one answer. Answers of one worker share layouts.
struct AnswerTable {
  std::shared_ptr<const Layout> layout;
  std::vector<report::Cell::Value> cells;  ///< row after row

  std::size_t rows() const { return layout->columns.empty() ? 0 : cells.size() / layout->columns.size(); }
};

struct Answer {
  std::vector<AnswerTable> tables;  ///< of a failure none
  std::optional<Diagnostic> failure{};
  std::string machine_hash{};
};

/// The parts of a document that a sweep keeps: its facts, and its tables or those that are named. Layouts that it has
/// seen before are shared.
class Excerpts {
 public:
  Excerpts(std::vector<std::string> tables, std::vector<std::string> columns)
      : tables_(std::move(tables)), columns_(std::move(columns)) {}

  Answer of(const report::Document& document);

 private:
  /// The layout of the columns at `kept`. Of a thousand answers most have one that is known.
  template <class Column>
  std::shared_ptr<const Layout> layout_of(std::string_view table, const std::vector<Column>& columns,
                                          const std::vector<std::size_t>& kept);

  std::vector<std::string> tables_;
  std::vector<std::string> columns_;
  std::vector<std::shared_ptr<const Layout>> known_;
  std::vector<std::size_t> kept_;  // columns of the table at hand
};

/// A machine that was asked about, by the hash of its content.
struct MachineRecord {
  std::string hash;
  std::string name;
  std::string content;
};

/// One point to do.
struct Task {
  std::int64_t point = 0;
  std::vector<Parameter> parameters;
};

struct Finished {
  std::int64_t point = 0;
  std::shared_ptr<const Answer> answer;  ///< never null; points that ask the same have the same
};

/// What a worker gives back at once.
struct Batch {
  std::vector<Finished> points;
  std::vector<MachineRecord> machines;  ///< that this worker had not named before
  double seconds = 0;                   ///< that the points took
};

// Between processes of one cluster, whose processors are of one kind.

std::string to_bytes(const std::vector<Task>& tasks);
std::string to_bytes(const Batch& batch);
/// None if the bytes are not those of a to_bytes.
std::optional<std::vector<Task>> tasks_of(std::string_view bytes);
std::optional<Batch> batch_of(std::string_view bytes);

}  // namespace cortado::sweep
