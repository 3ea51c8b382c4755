#include "sweep/sqlite.hpp"

#include <filesystem>
#include <sqlite3.h>
#include <system_error>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/text.hpp"

namespace cortado::sweep {
namespace {

/// How long a reader or a writer waits for the other.
constexpr int kBusyMilliseconds = 10'000;

std::string hint_of(int code) {
  switch (code & 0xff) {
    case SQLITE_FULL:
    case SQLITE_IOERR:
      return "free some disk space, then run the same command again to resume";
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
      return "use an existing file, or a new one in a writable folder";
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return "use the database of a sweep, or the name of a new file";
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "another program has locked the database; try again";
    default:
      return {};
  }
}

Diagnostic diagnostic(sqlite3* database, int code, const std::string& path) {
  const bool wrong_sql = (code & 0xff) == SQLITE_ERROR;
  const std::string what = database != nullptr ? sqlite3_errmsg(database) : sqlite3_errstr(code);
  return {wrong_sql ? "sweep.sql" : "sweep.database", what, hint_of(code), in_file(path),
          wrong_sql ? About::request : About::environment};
}

}  // namespace

std::string sql_name(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) out.append(c == '"' ? 2 : 1, c);
  return out + "\"";
}

std::string sql_marks(std::size_t count) {
  return join(std::vector<std::string>(count, "?"));
}

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

void Database::Close::operator()(sqlite3* database) const {
  sqlite3_close_v2(database);
}

void Statement::bind(int at, std::int64_t value) {
  sqlite3_bind_int64(statement_.get(), at + 1, value);
}
void Statement::bind(int at, double value) {
  sqlite3_bind_double(statement_.get(), at + 1, value);
}
void Statement::bind(int at, std::string_view value) {
  sqlite3_bind_text64(statement_.get(), at + 1, value.data(), value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}
void Statement::bind_null(int at) {
  sqlite3_bind_null(statement_.get(), at + 1);
}

void Statement::bind(int at, const report::Cell::Value& value) {
  std::visit(
      [&](const auto& one) {
        using T = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          bind_null(at);
        } else if constexpr (std::is_same_v<T, bool>) {
          bind(at, static_cast<std::int64_t>(one));
        } else if constexpr (std::is_same_v<T, report::Cell::List>) {
          bind(at, std::string_view(join(one)));
        } else if constexpr (std::is_same_v<T, std::string>) {
          bind(at, std::string_view(one));
        } else {
          bind(at, one);
        }
      },
      value);
}

Result<bool> Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  sqlite3* const database = sqlite3_db_handle(statement_.get());
  std::optional<Diagnostic> error;
  if (code != SQLITE_DONE) error = diagnostic(database, sqlite3_extended_errcode(database), path_);
  sqlite3_reset(statement_.get());
  if (error) return fail(*std::move(error));
  return false;
}

Status Statement::run() {
  for (;;) {
    CORTADO_ASSIGN_OR_RETURN(const bool row, step());
    if (!row) return {};
  }
}

int Statement::columns() const {
  return sqlite3_column_count(statement_.get());
}

std::string Statement::name(int at) const {
  const char* const name = sqlite3_column_name(statement_.get(), at);
  return name != nullptr ? name : "";
}

std::int64_t Statement::whole(int at) const {
  return sqlite3_column_int64(statement_.get(), at);
}

std::string Statement::text(int at) const {
  const auto* const text = sqlite3_column_text(statement_.get(), at);
  const int size = sqlite3_column_bytes(statement_.get(), at);
  return text != nullptr ? std::string(reinterpret_cast<const char*>(text), static_cast<std::size_t>(size)) : "";
}

report::Cell::Value Statement::value(int at) const {
  switch (sqlite3_column_type(statement_.get(), at)) {
    case SQLITE_INTEGER:
      return whole(at);
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement_.get(), at);
    case SQLITE_NULL:
      return {};
    default:
      return text(at);
  }
}

Result<Database> Database::open(const std::string& path, Access access) {
  // Nobody asks how much memory SQLite has; counting it takes a lock for every allocation, a tenth of the time of a
  // sweep. Too late if somebody else has used SQLite before, and then it counts on.
  [[maybe_unused]] static const int not_counted = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  if (std::error_code error; std::filesystem::is_directory(path, error)) {  // SQLite would call it a disk error
    return fail(Diagnostic{"sweep.database", "this is a folder",
                           "use the database of a sweep, or the name of a new file", in_file(path),
                           About::environment});
  }
  // SQLite would put a journal beside it before it finds out.
  if (std::error_code error; std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error)) {
    return fail(Diagnostic{"sweep.database", "this is not a regular file",
                           "use the database of a sweep, or the name of a new file", in_file(path),
                           About::environment});
  }
  int flags = SQLITE_OPEN_NOMUTEX;
  flags |= access == Access::read ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
  if (access == Access::create) flags |= SQLITE_OPEN_CREATE;
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &opened, flags, nullptr);
  Database database(opened, path);
  if (code != SQLITE_OK) return fail(diagnostic(opened, code, path));
  sqlite3_extended_result_codes(opened, 1);
  sqlite3_busy_timeout(opened, kBusyMilliseconds);
  // What is read first tells whether it is a database at all.
  const int first = sqlite3_exec(opened, "PRAGMA schema_version", nullptr, nullptr, nullptr);
  if (first == SQLITE_OK) return database;
  // Who only reads cannot take back what a killed process had begun to write.
  if (access == Access::read && (first & 0xff) == SQLITE_READONLY) return open(path, Access::write);
  return fail(diagnostic(opened, first, path));
}

Status Database::run(const std::string& sql) {
  const int code = sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code == SQLITE_OK) return {};
  return fail(diagnostic(database_.get(), sqlite3_extended_errcode(database_.get()), path_));
}

Result<Statement> Database::prepare(const std::string& sql) {
  sqlite3_stmt* made = nullptr;
  const int code = sqlite3_prepare_v3(database_.get(), sql.c_str(), -1, SQLITE_PREPARE_PERSISTENT, &made, nullptr);
  Statement statement(made, path_);
  if (code != SQLITE_OK) return fail(diagnostic(database_.get(), code, path_));
  return statement;
}

Result<report::Cell::Value> Database::ask(const std::string& sql) {
  CORTADO_ASSIGN_OR_RETURN(Statement statement, prepare(sql));
  CORTADO_ASSIGN_OR_RETURN(const bool row, statement.step());
  return row ? statement.value(0) : report::Cell::Value{};
}

Result<std::int64_t> Database::count(const std::string& sql) {
  CORTADO_ASSIGN_OR_RETURN(const report::Cell::Value value, ask(sql));
  const auto* const whole = std::get_if<std::int64_t>(&value);
  return whole != nullptr ? *whole : 0;
}

}  // namespace cortado::sweep
