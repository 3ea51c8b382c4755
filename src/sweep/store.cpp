#include "sweep/store.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "sweep/axis_columns.hpp"
#include "sweep/views.hpp"

namespace cortado::sweep {

Status Store::prepare() {
  CORTADO_ASSIGN_OR_RETURN(counts_, count_points(database_));
  CORTADO_RETURN_IF_ERROR(owner_.note(counts_.done + counts_.failed));
  CORTADO_ASSIGN_OR_RETURN(Statement known, database_.prepare("SELECT in_table, name FROM columns"));
  for (;;) {
    CORTADO_ASSIGN_OR_RETURN(const bool row, known.step());
    if (!row) break;
    columns_[known.text(0)].push_back(known.text(1));
  }
  const auto prepared = [&](std::optional<Statement>& statement, const std::string& sql) -> Status {
    CORTADO_ASSIGN_OR_RETURN(statement, database_.prepare(sql));
    return {};
  };
  CORTADO_RETURN_IF_ERROR(prepared(
      next_, fmt::format("SELECT point, {} FROM points WHERE state = 'waiting' AND point > ? ORDER BY point LIMIT ?",
                         join(axis_columns(*spec_)))));
  CORTADO_RETURN_IF_ERROR(
      prepared(set_state_, "UPDATE points SET state = ?, made_by = ?, machine_hash = ? WHERE point = ?"));
  CORTADO_RETURN_IF_ERROR(prepared(add_failure_, "INSERT OR REPLACE INTO failures VALUES (?, ?, ?, ?)"));
  return prepared(add_machine_, "INSERT OR IGNORE INTO machines VALUES (?, ?, ?)");
}

Result<std::vector<Task>> Store::take(std::size_t most) {
  std::vector<Task> tasks;
  if (most == 0) return tasks;
  const std::vector<const Axis*> axes = spec_->axes();
  next_->bind(0, last_taken_);
  next_->bind(1, static_cast<std::int64_t>(most));
  for (;;) {
    CORTADO_ASSIGN_OR_RETURN(const bool row, next_->step());
    if (!row) return tasks;
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (std::holds_alternative<std::monostate>(next_->value(static_cast<int>(i) + 1))) {
        return fail({"sweep.row", fmt::format("point {} has no value of axis {}", next_->whole(0), axes[i]->name),
                     "the database was modified; start with a new one", in_file(database_.path())});
      }
      texts.push_back(text_of_column(*next_, static_cast<int>(i) + 1));
    }
    tasks.push_back({next_->whole(0), parameters_at(*spec_, texts, parameters_)});
    last_taken_ = tasks.back().point;
  }
}

Status Store::begin() {
  if (writing_) return {};
  CORTADO_RETURN_IF_ERROR(database_.run("BEGIN IMMEDIATE"));
  writing_ = true;
  return {};
}

Status Store::add(const Batch& batch) {
  CORTADO_RETURN_IF_ERROR(begin());
  inserter_of_.clear();
  for (const MachineRecord& machine : batch.machines) {
    add_machine_->bind(0, std::string_view(machine.hash));
    add_machine_->bind(1, std::string_view(machine.name));
    add_machine_->bind(2, std::string_view(machine.content));
    CORTADO_RETURN_IF_ERROR(add_machine_->run());
  }
  for (const Finished& finished : batch.points) CORTADO_RETURN_IF_ERROR(add(finished));
  return {};
}

Status Store::add(const Finished& finished) {
  const Answer& answer = *finished.answer;
  set_state_->bind(0, std::string_view(answer.failure ? "failed" : "done"));
  set_state_->bind(1, version_);
  set_state_->bind(2, std::string_view(answer.machine_hash));
  set_state_->bind(3, finished.point);
  CORTADO_RETURN_IF_ERROR(set_state_->run());
  --counts_.waiting;
  ++(answer.failure ? counts_.failed : counts_.done);
  if (answer.failure) {
    add_failure_->bind(0, finished.point);
    add_failure_->bind(1, std::string_view(answer.failure->code));
    add_failure_->bind(2, std::string_view(answer.failure->message));
    add_failure_->bind(3, std::string_view(answer.failure->hint));
    CORTADO_RETURN_IF_ERROR(add_failure_->run());
  }
  for (const AnswerTable& table : answer.tables) CORTADO_RETURN_IF_ERROR(add_rows(finished.point, table));
  return {};
}

Status Store::add_rows(std::int64_t point, const AnswerTable& table) {
  CORTADO_ASSIGN_OR_RETURN(Statement* const insert, inserter(table));
  const std::size_t width = table.layout->columns.size();
  const bool facts = table.layout->table == kFacts;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    int at = 0;
    insert->bind(at++, point);
    if (!facts) insert->bind(at++, static_cast<std::int64_t>(row));
    for (std::size_t i = 0; i < width; ++i) insert->bind(at++, table.cells[row * width + i]);
    CORTADO_RETURN_IF_ERROR(insert->run());
  }
  return {};
}

Result<Statement*> Store::inserter(const AnswerTable& table) {
  const auto seen = inserter_of_.find(table.layout.get());
  if (seen != inserter_of_.end()) return &inserters_[seen->second].second;
  auto known = std::ranges::find_if(inserters_, [&](const auto& one) { return one.first == *table.layout; });
  if (known == inserters_.end()) {
    CORTADO_RETURN_IF_ERROR(add_columns(*table.layout));
    std::vector<std::string> names{"point"};
    if (table.layout->table != kFacts) names.emplace_back("row");
    for (const LayoutColumn& column : table.layout->columns) names.push_back(sql_name(column.name));
    CORTADO_ASSIGN_OR_RETURN(
        Statement insert,
        database_.prepare(fmt::format("INSERT OR REPLACE INTO {}({}) VALUES ({})", sql_name(table.layout->table),
                                      join(names), sql_marks(names.size()))));
    inserters_.emplace_back(*table.layout, std::move(insert));
    known = inserters_.end() - 1;
  }
  const auto at = static_cast<std::size_t>(known - inserters_.begin());
  inserter_of_[table.layout.get()] = at;
  return &inserters_[at].second;
}

Status Store::add_columns(const Layout& layout) {
  std::vector<std::string>& known = columns_[layout.table];
  const bool is_new = known.empty();
  std::vector<std::string> added;
  CORTADO_ASSIGN_OR_RETURN(Statement note, database_.prepare("INSERT OR IGNORE INTO columns VALUES (?, ?, ?)"));
  for (const LayoutColumn& column : layout.columns) {
    if (std::ranges::count(known, column.name) > 0) continue;
    known.push_back(column.name);
    added.push_back(sql_name(column.name));
    note.bind(0, std::string_view(layout.table));
    note.bind(1, std::string_view(column.name));
    note.bind(2, std::string_view(column.meaning));
    CORTADO_RETURN_IF_ERROR(note.run());
  }
  if (added.empty()) return {};
  const std::string table = sql_name(layout.table);
  if (is_new) {
    const std::string columns = join(added);
    CORTADO_RETURN_IF_ERROR(database_.run(
        layout.table == kFacts
            ? fmt::format("CREATE TABLE {}(point INTEGER PRIMARY KEY, {})", table, columns)
            : fmt::format("CREATE TABLE {}(point INTEGER, row INTEGER, {}, PRIMARY KEY(point, row)) WITHOUT ROWID",
                          table, columns)));
  } else {
    for (const std::string& column : added) {
      CORTADO_RETURN_IF_ERROR(database_.run(fmt::format("ALTER TABLE {} ADD COLUMN {}", table, column)));
    }
  }
  return database_.run(views_sql(axis_columns(*spec_), columns_, ranking_));
}

Status Store::commit() {
  if (!writing_) return {};
  writing_ = false;
  Status committed = database_.run("COMMIT");
  if (!committed) static_cast<void>(database_.run("ROLLBACK"));
  return committed;
}

Status Store::finish() {
  CORTADO_RETURN_IF_ERROR(commit());
  for (std::optional<Statement>* statement : {&next_, &set_state_, &add_failure_, &add_machine_}) statement->reset();
  inserters_.clear();
  inserter_of_.clear();
  CORTADO_RETURN_IF_ERROR(database_.run("PRAGMA wal_checkpoint(TRUNCATE)"));
  // One file, which readers leave as it is. Not while somebody reads: then the next one does it.
  static_cast<void>(database_.run("PRAGMA busy_timeout = 0; PRAGMA journal_mode = DELETE"));
  return {};
}

}  // namespace cortado::sweep
