// The database of a sweep: an SQLite file in write-ahead mode, for anybody's tools.
//
//   sweep      key, value: question, spec, and what makes them the same sweep
//   versions   of Cortado that answered: id, cortado, models
//   machines   hash, name, content: the whole file
//   columns    in_table, name, meaning: of the tables of answers
//   points     point, state (waiting, done, failed), made_by, machine_hash, and a column for each axis
//   failures   point, code, message, hint
//   facts      point, and a column for each fact of the answer
//   rows, ...  point, row, and a column for each column of the answer's table
//
// Views: results (points, facts and rows together), best (the best row of every point), regret (how much worse every
// row is than the best of its point), by_axis (of every value of an axis: points, wins and scores by row label).
//
// All points are there from the beginning, so that whoever looks sees what is missing. Nothing depends on the time or
// on the order in which points were done, but the order of columns that only some answers have.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cortado/result.hpp"

#include "sweep/answer.hpp"
#include "sweep/owner.hpp"
#include "sweep/question.hpp"
#include "sweep/spec.hpp"
#include "sweep/sqlite.hpp"

namespace cortado::sweep {

/// What made an answer.
struct Version {
  std::string cortado;  ///< "0.2.0"
  std::string models;   ///< hash of the sources that plan and simulate
};

struct StoreOptions {
  bool extend = false;  ///< go on with another spec of the same axes, or another version
  bool retry = false;   ///< points that failed are to be done again
};

struct PointCounts {
  std::int64_t waiting = 0;
  std::int64_t done = 0;
  std::int64_t failed = 0;

  std::int64_t all() const { return waiting + done + failed; }
};

/// Whether a point belongs to the sweep. Its expressions are SQL over the axes.
class PointFilter {
 public:
  /// Refuses what is no expression over the axes (sweep.filter).
  static Result<PointFilter> of(const Spec& spec);
  Result<bool> keeps(const std::vector<Value>& values);

 private:
  explicit PointFilter(Database database) : database_(std::move(database)) {}

  Database database_;
  std::optional<Statement> statement_;  // none: all points
};

/// Calls `each` with the values of every point that passes the filters, in order.
Status for_each_point(const Spec& spec, const std::function<Status(const std::vector<Value>&)>& each);

/// Opens what a sweep wrote, or refuses it: another program's or version's file (sweep.foreign).
Result<Database> open_results(const std::string& path, Database::Access access);
Result<PointCounts> count_points(Database& database);
/// How its rows compare.
Result<Ranking> ranking_of(Database& database);
/// A value of the table sweep; empty if it has none.
Result<std::string> meta(Database& database, std::string_view key);

class Store {
 public:
  /// Creates the database, or goes on with it. Refuses one that belongs to another sweep (sweep.changed), or that
  /// another process writes (sweep.owner); then nothing was changed.
  static Result<Store> open(const std::string& path, const Spec& spec, const Question& question, const Version& version,
                            const StoreOptions& options);

  /// The next points that wait, at most so many.
  Result<std::vector<Task>> take(std::size_t most);
  Status add(const Batch& batch);
  /// Makes what was added safe from everything but the loss of the disk.
  Status commit();
  /// Commits, and puts the file into a state that needs no other files.
  Status finish();

  const PointCounts& counts() const { return counts_; }

 private:
  Store(Database database, Owner owner, const Spec& spec, const Question& question)
      : database_(std::move(database)),
        owner_(std::move(owner)),
        spec_(&spec),
        ranking_(sweep::ranking_of(spec, question)),
        parameters_(question.parameters()) {}

  Status create(const Version& version);
  Status go_on(const Version& version, const StoreOptions& options);
  Status extend();
  Status add_points(const std::function<bool(const std::vector<Value>&)>& is_new);
  Status set_version(const Version& version);
  Status prepare();
  Status begin();
  Status add(const Finished& finished);
  Status add_rows(std::int64_t point, const AnswerTable& table);
  Result<Statement*> inserter(const AnswerTable& table);
  Status add_columns(const Layout& layout);

  Database database_;
  Owner owner_;
  const Spec* spec_;
  Ranking ranking_;
  std::vector<std::string> parameters_;
  std::int64_t version_ = 0;
  PointCounts counts_;
  std::int64_t last_taken_ = -1;
  bool writing_ = false;                                     // a transaction is open
  std::map<std::string, std::vector<std::string>> columns_;  // by table, those that exist
  std::vector<std::pair<Layout, Statement>> inserters_;
  std::map<const Layout*, std::size_t> inserter_of_;  // of the batch at hand
  std::optional<Statement> next_;
  std::optional<Statement> set_state_;
  std::optional<Statement> add_failure_;
  std::optional<Statement> add_machine_;
};

}  // namespace cortado::sweep
