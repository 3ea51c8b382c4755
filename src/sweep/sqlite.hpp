// SQLite with errors as values. Nothing here knows of sweeps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cortado/report.hpp"
#include "cortado/result.hpp"

#include "sweep/spec.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace cortado::sweep {

/// "a ""name""" in double quotes, as SQL writes names of columns.
std::string sql_name(std::string_view name);
/// Places for so many values: ?, ?, ?
std::string sql_marks(std::size_t count);

/// A statement that can be run many times. Parameters and columns are counted from 0.
class Statement {
 public:
  void bind(int at, std::int64_t value);
  void bind(int at, double value);
  void bind(int at, std::string_view value);
  /// Lists become text, parts separated by ", "; truth is 0 or 1.
  void bind(int at, const report::Cell::Value& value);
  void bind_null(int at);

  /// True: there is a row. After the last one it can be bound and run again.
  Result<bool> step();
  /// Runs it for its effect.
  Status run();

  int columns() const;
  std::string name(int at) const;
  report::Cell::Value value(int at) const;  ///< nothing, a whole number, a number or text
  std::int64_t whole(int at) const;
  std::string text(int at) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  Statement(sqlite3_stmt* statement, std::string path) : statement_(statement), path_(std::move(path)) {}

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  std::string path_;
};

class Database {
 public:
  enum class Access { read, write, create };

  /// ":memory:" is in memory only. A file that is no database is refused (sweep.database). What a killed process had
  /// begun to write is taken back, whatever the access.
  static Result<Database> open(const std::string& path, Access access);

  Status run(const std::string& sql);
  Result<Statement> prepare(const std::string& sql);
  /// The first column of the first row; empty if there is none.
  Result<report::Cell::Value> ask(const std::string& sql);
  Result<std::int64_t> count(const std::string& sql);
  const std::string& path() const { return path_; }

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  Database(sqlite3* database, std::string path) : database_(database), path_(std::move(path)) {}

  std::unique_ptr<sqlite3, Close> database_;
  std::string path_;
};

}  // namespace cortado::sweep
