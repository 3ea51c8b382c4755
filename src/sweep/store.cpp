#include "sweep/store.hpp"

#include <algorithm>
#include <filesystem>
#include <unordered_set>

#include <fmt/format.h>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "sweep/views.hpp"

namespace cortado::sweep {
namespace {

constexpr std::int64_t kApplication = 0x43525444;  // "CRTD", as `file` and SQLite tell programs apart
constexpr std::int64_t kSchema = 1;

/// What two specs of one database have in common, whatever the values of their axes.
std::string frame_key(const Spec& spec) {
  std::string text = spec.question;
  for (const Parameter& fixed : spec.fixed) text += fmt::format("\n{}={}", fixed.name, fixed.text);
  for (const Axis* axis : spec.axes()) text += "\naxis " + axis->name;
  if (spec.ranking) {
    const Ranking& rank = *spec.ranking;
    text += fmt::format("\nrank {} {} {} {} {} {}", rank.table, rank.label, rank.column, rank.greatest, rank.score,
                        rank.condition);
  }
  return hash_of(fmt::format("{}\n{}\n{}", text, join(spec.tables), join(spec.columns)));
}

std::string spec_key(const Spec& spec) {
  std::string text = frame_key(spec);
  for (const Axis* axis : spec.axes()) {
    for (const Value& value : axis->values) text += fmt::format("\n{} {}", value.index(), text_of(value));
  }
  return hash_of(fmt::format("{}\n{}", text, join(spec.filters, "\n")));
}

void bind_value(Statement& statement, int at, const Value& value) {
  std::visit(
      [&](const auto& one) {
        if constexpr (std::is_same_v<std::decay_t<decltype(one)>, std::string>) {
          statement.bind(at, std::string_view(one));
        } else {
          statement.bind(at, one);
        }
      },
      value);
}

std::string key_of(const std::vector<Value>& values) {
  std::string key;
  for (const Value& value : values) key += text_of(value) + '\n';
  return key;
}

std::string text_of_column(const Statement& row, int at) {
  const report::Cell::Value value = row.value(at);
  const auto* const real = std::get_if<double>(&value);
  return real != nullptr ? text_of(Value{*real}) : row.text(at);
}

std::vector<std::string> axis_columns(const Spec& spec) {
  std::vector<std::string> columns;
  for (const Axis* axis : spec.axes()) columns.push_back(sql_name(axis->name));
  return columns;
}

/// The first axis of every group: the others of a zip say nothing new.
std::string shown_axes(const Spec& spec) {
  std::vector<std::string> names;
  for (const AxisGroup& group : spec.groups) names.push_back(group.axes.front().name);
  return join(names, "\n");
}

std::string marks(std::size_t count) {
  return join(std::vector<std::string>(count, "?"));
}

Status put(Database& database, std::string_view key, std::string_view value) {
  CORTADO_ASSIGN_OR_RETURN(Statement statement, database.prepare("INSERT OR REPLACE INTO sweep VALUES (?, ?)"));
  statement.bind(0, key);
  statement.bind(1, value);
  return statement.run();
}

}  // namespace

Result<std::string> meta(Database& database, std::string_view key) {
  CORTADO_ASSIGN_OR_RETURN(Statement statement, database.prepare("SELECT value FROM sweep WHERE key = ?"));
  statement.bind(0, key);
  CORTADO_ASSIGN_OR_RETURN(const bool row, statement.step());
  return row ? statement.text(0) : std::string();
}

Result<Database> open_results(const std::string& path, Database::Access access) {
  CORTADO_ASSIGN_OR_RETURN(Database database, Database::open(path, access));
  CORTADO_ASSIGN_OR_RETURN(const std::int64_t application, database.count("PRAGMA application_id"));
  CORTADO_ASSIGN_OR_RETURN(const std::int64_t schema, database.count("PRAGMA user_version"));
  if (application != kApplication) {
    return fail({"sweep.foreign", "this is no database of a sweep: another program wrote it",
                 "give the file that cortado sweep -o wrote", in_file(path)});
  }
  if (schema != kSchema) {
    return fail({"sweep.foreign",
                 fmt::format("it has format {} of sweeps, this version of cortado has {}", schema, kSchema),
                 "use the version of cortado that wrote it", in_file(path)});
  }
  return database;
}

Result<PointCounts> count_points(Database& database) {
  CORTADO_ASSIGN_OR_RETURN(
      Statement statement,
      database.prepare("SELECT coalesce(sum(state = 'waiting'), 0), coalesce(sum(state = 'done'), 0), "
                       "coalesce(sum(state = 'failed'), 0), count(*) FROM points"));
  CORTADO_RETURN_IF_ERROR(statement.step());
  const PointCounts counts{statement.whole(0), statement.whole(1), statement.whole(2)};
  if (counts.all() != statement.whole(3)) {
    return fail({"sweep.row",
                 fmt::format("{} points are neither waiting, done nor failed", statement.whole(3) - counts.all()),
                 "somebody changed the database; begin with another one", in_file(database.path())});
  }
  return counts;
}

Result<Store> Store::open(const std::string& path, const Spec& spec, const Question& question, const Version& version,
                          const StoreOptions& options) {
  std::error_code ignored;
  const bool exists = std::filesystem::exists(path, ignored) && std::filesystem::file_size(path, ignored) > 0;
  if (exists) {  // what is not ours stays as it is, without a lock beside it
    const auto looked_at = Database::open(path, Database::Access::read);
    if (!looked_at) return fail(looked_at.error());
  }
  CORTADO_ASSIGN_OR_RETURN(Owner owner, Owner::of(path));
  CORTADO_ASSIGN_OR_RETURN(Database database, Database::open(path, Database::Access::create));
  CORTADO_ASSIGN_OR_RETURN(const std::int64_t tables, database.count("SELECT count(*) FROM sqlite_master"));
  CORTADO_ASSIGN_OR_RETURN(const std::int64_t application, database.count("PRAGMA application_id"));
  const bool is_new = tables == 0 && application == 0;
  if (!is_new) {
    CORTADO_RETURN_IF_ERROR(open_results(path, Database::Access::read));
  }
  Store store(std::move(database), std::move(owner), spec, question);
  if (is_new) {
    CORTADO_RETURN_IF_ERROR(store.create(version));
  } else {
    CORTADO_RETURN_IF_ERROR(store.go_on(version, options));
  }
  CORTADO_RETURN_IF_ERROR(store.prepare());
  return store;
}

Status Store::create(const Version& version) {
  CORTADO_RETURN_IF_ERROR(database_.run("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE"));
  CORTADO_RETURN_IF_ERROR(database_.run(fmt::format(
      "PRAGMA application_id = {}; PRAGMA user_version = {};"
      "CREATE TABLE sweep(key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
      "CREATE TABLE versions(id INTEGER PRIMARY KEY, cortado TEXT, models TEXT);"
      "CREATE TABLE machines(hash TEXT PRIMARY KEY, name TEXT, content TEXT) WITHOUT ROWID;"
      "CREATE TABLE columns(in_table TEXT, name TEXT, meaning TEXT, PRIMARY KEY(in_table, name)) WITHOUT ROWID;"
      "CREATE TABLE failures(point INTEGER PRIMARY KEY, code TEXT, message TEXT, hint TEXT);"
      "CREATE TABLE points(point INTEGER PRIMARY KEY, state TEXT NOT NULL, made_by INTEGER, machine_hash TEXT, {})",
      kApplication, kSchema, join(axis_columns(*spec_)))));
  for (const auto& [key, value] : std::initializer_list<std::pair<std::string_view, std::string>>{
           {"question", spec_->question},
           {"frame", frame_key(*spec_)},
           {"shown_axes", shown_axes(*spec_)},
           {"rank_table", ranking_.table},
           {"rank_label", ranking_.label},
           {"rank_column", ranking_.column},
           {"rank_order", ranking_.greatest ? "greatest" : "least"},
           {"rank_condition", ranking_.condition},
           {"rank_score", ranking_.score},
           {"spec", spec_->text},
           {"spec_key", spec_key(*spec_)}}) {
    CORTADO_RETURN_IF_ERROR(put(database_, key, value));
  }
  CORTADO_RETURN_IF_ERROR(set_version(version));
  CORTADO_RETURN_IF_ERROR(add_points([](const std::vector<Value>&) { return true; }));
  return database_.run("COMMIT");
}

Status Store::add_points(const std::function<bool(const std::vector<Value>&)>& is_new) {
  const std::vector<std::string> columns = axis_columns(*spec_);
  CORTADO_ASSIGN_OR_RETURN(Statement insert,
                           database_.prepare(fmt::format("INSERT INTO points(state, {}) VALUES ('waiting', {})",
                                                         join(columns), marks(columns.size()))));
  return for_each_point(*spec_, [&](const std::vector<Value>& values) -> Status {
    if (!is_new(values)) return {};
    for (std::size_t i = 0; i < values.size(); ++i) bind_value(insert, static_cast<int>(i), values[i]);
    return insert.run();
  });
}

Status Store::set_version(const Version& version) {
  CORTADO_ASSIGN_OR_RETURN(Statement known,
                           database_.prepare("SELECT id FROM versions WHERE cortado = ? AND models = ?"));
  known.bind(0, std::string_view(version.cortado));
  known.bind(1, std::string_view(version.models));
  CORTADO_ASSIGN_OR_RETURN(const bool found, known.step());
  if (found) {
    version_ = known.whole(0);
    return {};
  }
  CORTADO_ASSIGN_OR_RETURN(Statement insert,
                           database_.prepare("INSERT INTO versions(cortado, models) VALUES (?, ?) RETURNING id"));
  insert.bind(0, std::string_view(version.cortado));
  insert.bind(1, std::string_view(version.models));
  CORTADO_RETURN_IF_ERROR(insert.step());
  version_ = insert.whole(0);
  return insert.run();
}

Status Store::go_on(const Version& version, const StoreOptions& options) {
  const auto changed = [&](std::string message, std::string hint) {
    return fail({"sweep.changed", std::move(message), std::move(hint), in_file(database_.path())});
  };
  CORTADO_ASSIGN_OR_RETURN(const std::string frame, meta(database_, "frame"));
  CORTADO_ASSIGN_OR_RETURN(const std::string key, meta(database_, "spec_key"));
  if (frame != frame_key(*spec_)) {
    return changed("the spec asks another question, fixes other values, keeps other columns or has other axes",
                   "give another database; a database of results can only have more values of the same axes");
  }
  const bool other_spec = key != spec_key(*spec_);
  if (other_spec && !options.extend) {
    return changed("the spec has changed: other values of its axes, or other filters",
                   "give --extend to add its new points, or another database");
  }
  CORTADO_ASSIGN_OR_RETURN(const report::Cell::Value last,
                           database_.ask("SELECT cortado || ', models ' || models FROM versions ORDER BY id DESC"));
  const std::string made = std::holds_alternative<std::string>(last) ? std::get<std::string>(last) : "";
  if (made != fmt::format("{}, models {}", version.cortado, version.models) && !options.extend) {
    return changed(fmt::format("another version of cortado made it: {}", made),
                   "give --extend to go on with this version (points tell which one made them), or another database");
  }
  CORTADO_RETURN_IF_ERROR(count_points(database_));
  CORTADO_RETURN_IF_ERROR(database_.run("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE"));
  CORTADO_RETURN_IF_ERROR(set_version(version));
  if (other_spec) CORTADO_RETURN_IF_ERROR(extend());
  if (options.retry) {
    CORTADO_RETURN_IF_ERROR(
        database_.run("UPDATE points SET state = 'waiting' WHERE state = 'failed'; DELETE FROM failures"));
  }
  return database_.run("COMMIT");
}

Status Store::extend() {
  std::unordered_set<std::string> known;
  const std::vector<std::string> columns = axis_columns(*spec_);
  CORTADO_ASSIGN_OR_RETURN(Statement all, database_.prepare(fmt::format("SELECT {} FROM points", join(columns))));
  for (;;) {
    CORTADO_ASSIGN_OR_RETURN(const bool row, all.step());
    if (!row) break;
    std::string key;
    for (int i = 0; i < all.columns(); ++i) key += text_of_column(all, i) + '\n';
    known.insert(std::move(key));
  }
  CORTADO_RETURN_IF_ERROR(
      add_points([&](const std::vector<Value>& values) { return !known.contains(key_of(values)); }));
  CORTADO_RETURN_IF_ERROR(put(database_, "spec", spec_->text));
  return put(database_, "spec_key", spec_key(*spec_));
}

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
                     "somebody changed the database; begin with another one", in_file(database_.path())});
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
    CORTADO_ASSIGN_OR_RETURN(Statement insert, database_.prepare(fmt::format(
                                                   "INSERT OR REPLACE INTO {}({}) VALUES ({})",
                                                   sql_name(table.layout->table), join(names), marks(names.size()))));
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
