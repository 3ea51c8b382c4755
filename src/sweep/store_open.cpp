// How the database of a sweep is made, recognized and gone on with.
#include <filesystem>
#include <initializer_list>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "sweep/axis_columns.hpp"
#include "sweep/store.hpp"

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
    if (!rank.within.empty()) text += fmt::format("\nwithin {}", rank.within);
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

std::string key_of(const std::vector<Value>& values) {
  std::string key;
  for (const Value& value : values) key += text_of(value) + '\n';
  return key;
}

/// The first axis of every group: the others of a zip say nothing new.
std::string shown_axes(const Spec& spec) {
  std::vector<std::string> names;
  for (const AxisGroup& group : spec.groups) names.push_back(group.axes.front().name);
  return join(names, "\n");
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

Result<Ranking> ranking_of(Database& database) {
  Ranking ranking;
  std::string order;
  for (const auto& [key, value] : {std::pair{"rank_table", &ranking.table},
                                   {"rank_label", &ranking.label},
                                   {"rank_column", &ranking.column},
                                   {"rank_order", &order},
                                   {"rank_within", &ranking.within},
                                   {"rank_condition", &ranking.condition},
                                   {"rank_score", &ranking.score}}) {
    CORTADO_ASSIGN_OR_RETURN(*value, meta(database, key));
  }
  ranking.greatest = order == "greatest";
  return ranking;
}

Result<Database> open_results(const std::string& path, Database::Access access) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    return fail({"sweep.database", "the file does not exist",
                 fmt::format("create it with cortado sweep SPEC -o {}", path), in_file(path), About::environment});
  }
  if (std::filesystem::file_size(path, ignored) == 0 && !ignored) {
    return fail({"sweep.database", "the file is empty", fmt::format("fill it with cortado sweep SPEC -o {}", path),
                 in_file(path), About::environment});
  }
  CORTADO_ASSIGN_OR_RETURN(Database database, Database::open(path, access));
  CORTADO_ASSIGN_OR_RETURN(const std::int64_t application, database.count("PRAGMA application_id"));
  CORTADO_ASSIGN_OR_RETURN(const std::int64_t schema, database.count("PRAGMA user_version"));
  if (application != kApplication) {
    return fail({"sweep.foreign", "this is not the database of a sweep: another program wrote it",
                 "use a file that cortado sweep -o wrote", in_file(path)});
  }
  if (schema != kSchema) {
    return fail({"sweep.foreign",
                 fmt::format("the database has sweep format {}, but this version of cortado uses {}", schema, kSchema),
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
                 "the database was modified; start with a new one", in_file(database.path())});
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
           {"rank_within", ranking_.within},
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
                                                         join(columns), sql_marks(columns.size()))));
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
                   "use another database; a results database can only grow by values of the same axes");
  }
  const bool other_spec = key != spec_key(*spec_);
  if (other_spec && !options.extend) {
    return changed("the spec has changed: other values of its axes, or other filters",
                   "pass --extend to add its new points, or use another database");
  }
  CORTADO_ASSIGN_OR_RETURN(const report::Cell::Value last,
                           database_.ask("SELECT cortado || ', models ' || models FROM versions ORDER BY id DESC"));
  const std::string made = std::holds_alternative<std::string>(last) ? std::get<std::string>(last) : "";
  if (made != fmt::format("{}, models {}", version.cortado, version.models) && !options.extend) {
    return changed(
        fmt::format("another version of cortado wrote it: {}", made),
        "pass --extend to continue with this version (each point records its version), or use another database");
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

}  // namespace cortado::sweep
