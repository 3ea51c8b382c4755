#include "sweep/show.hpp"

#include <algorithm>
#include <ctime>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "sweep/owner.hpp"
#include "sweep/store.hpp"
#include "sweep/views.hpp"

namespace cortado::sweep {
namespace {

using report::Cell;

/// Columns of groups, besides what they are grouped by.
constexpr std::string_view kOfGroups[] = {"rows", "points", "wins", "mean", "least", "most", "mean_regret"};

report::Cell cell_of(const Cell::Value& value) {
  return std::visit(
      [](const auto& one) -> Cell {
        if constexpr (std::is_same_v<std::decay_t<decltype(one)>, std::monostate>) {
          return {};
        } else {
          return one;
        }
      },
      value);
}

/// "the first one, point 3: gemm.shape: ..."
Result<std::string> first_failure(Database& database) {
  CORTADO_ASSIGN_OR_RETURN(Statement first,
                           database.prepare("SELECT point, code, message FROM failures ORDER BY point LIMIT 1"));
  CORTADO_ASSIGN_OR_RETURN(const bool row, first.step());
  if (!row) return std::string("the reason was not recorded");
  return fmt::format("the first, point {}: {}: {}", first.whole(0), first.text(1), first.text(2));
}

class Shown {
 public:
  Shown(Database& database, const ShowRequest& request) : database_(database), request_(request) {
    for (const std::string& name : request.group_by) {
      if (std::ranges::count(keys_, name) == 0) keys_.push_back(name);
    }
  }

  Result<report::Document> document() {
    CORTADO_RETURN_IF_ERROR(read_meta());
    report::Document document{.schema = "cortado.sweep"};
    document.title = fmt::format("sweep of cortado {}: {} of {} points", question_, counts_.done, counts_.all());
    document.facts = {{"question", question_, "command that was run"},
                      {"points", counts_.all(), "of the sweep"},
                      {"done", counts_.done, "points with an answer"},
                      {"failed", counts_.failed, "points that failed; the table failures of the database says why"},
                      {"waiting", counts_.waiting, "points that have not run yet"}};
    if (counts_.failed > 0) {
      CORTADO_ASSIGN_OR_RETURN(const std::string first, first_failure(database_));
      document.notes.push_back(fmt::format("{} failed (all in the table failures); {}",
                                           counted(static_cast<std::uint64_t>(counts_.failed), "point"), first));
    }
    if (counts_.waiting > 0) document.notes.push_back(fmt::format("{} points have not run yet", counts_.waiting));
    if (columns_.empty()) {
      document.tables = {{.meaning = "one per row of an answer, or per group"}};
      return document;
    }
    CORTADO_RETURN_IF_ERROR(check_columns());
    CORTADO_RETURN_IF_ERROR(check_condition());
    CORTADO_ASSIGN_OR_RETURN(const std::string sql, keys_.empty() ? plain_sql() : Result<std::string>(grouped_sql()));
    CORTADO_ASSIGN_OR_RETURN(report::Table table, rows(sql));
    if (table.rows.empty() && request_.best && !request_.where.empty()) {
      document.notes.push_back(
          ranking_.condition.empty()
              ? "no row is left by --where"
              : fmt::format("no row is left by --where that can be the best ({})", ranking_.condition));
    }
    table.charts = charts(table);
    document.tables = {std::move(table)};
    return document;
  }

 private:
  Status read_meta() {
    const auto get = [&](std::string& value, std::string_view key) -> Status {
      CORTADO_ASSIGN_OR_RETURN(value, meta(database_, key));
      return {};
    };
    CORTADO_RETURN_IF_ERROR(get(question_, "question"));
    CORTADO_ASSIGN_OR_RETURN(ranking_, ranking_of(database_));
    std::string shown;
    CORTADO_RETURN_IF_ERROR(get(shown, "shown_axes"));
    shown_axes_ = split(shown, '\n');
    CORTADO_ASSIGN_OR_RETURN(counts_, count_points(database_));
    CORTADO_ASSIGN_OR_RETURN(Statement axes, database_.prepare("SELECT name FROM pragma_table_info('points')"));
    for (;;) {
      CORTADO_ASSIGN_OR_RETURN(const bool row, axes.step());
      if (!row) break;
      axes_.push_back(axes.text(0));
    }
    axes_.erase(axes_.begin(), axes_.begin() + std::min<std::ptrdiff_t>(4, std::ssize(axes_)));
    CORTADO_ASSIGN_OR_RETURN(Statement columns, database_.prepare("SELECT name FROM pragma_table_info('results')"));
    for (;;) {
      CORTADO_ASSIGN_OR_RETURN(const bool row, columns.step());
      if (!row) break;
      columns_.push_back(columns.text(0));
    }
    return {};
  }

  Status check_columns() const {
    if (!keys_.empty() && !request_.columns.empty()) {
      return fail({"sweep.column", "groups have columns of their own: points, winner, mean, least and most",
                   "drop --columns or --group-by"});
    }
    if (request_.best && !ranked()) {
      return fail({"sweep.column",
                   fmt::format("the best rows are those with the {} {}, but the results have no column {}",
                               ranking_.greatest ? "greatest" : "least", ranking_.column,
                               std::ranges::count(columns_, ranking_.column) > 0 ? ranking_.label : ranking_.column),
                   "drop --best, or run the sweep again with this column in [keep]", in_file(database_.path())});
    }
    for (const auto* names : {&keys_, &request_.columns}) {
      for (const std::string& name : *names) {
        if (std::ranges::count(columns_, name) > 0) continue;
        return fail({"sweep.column", fmt::format("the results have no column {}", name), suggestion(name, columns_),
                     in_file(database_.path())});
      }
    }
    return {};
  }

  /// It must be complete by itself: between parentheses, "a) OR (b" would be a condition, too.
  Status check_condition() {
    if (request_.where.empty()) return {};
    CORTADO_RETURN_IF_ERROR(prepared("SELECT 1 FROM results WHERE " + request_.where));
    return {};
  }

  /// What is chosen or grouped among.
  std::string rows_left() const {
    return request_.where.empty() ? "results" : fmt::format("(SELECT * FROM results WHERE ({}))", request_.where);
  }

  bool ranked() const {
    return std::ranges::count(columns_, ranking_.column) > 0 && std::ranges::count(columns_, ranking_.label) > 0;
  }
  const std::string& scored() const {
    return std::ranges::count(columns_, ranking_.score) > 0 ? ranking_.score : ranking_.column;
  }

  /// Columns before the one that ranks, in which rows of a point differ though they have the same label.
  Result<std::vector<std::string>> distinguishing() {
    std::vector<std::string> found;
    if (!ranked()) return found;
    for (const std::string& name : columns_) {
      if (name == ranking_.column) break;
      if (name == "row" || name == ranking_.label || std::ranges::count(axes_, name) > 0) continue;
      CORTADO_ASSIGN_OR_RETURN(Statement differ,
                               database_.prepare(fmt::format(
                                   "SELECT 1 FROM results GROUP BY point, {} HAVING count(DISTINCT {}) > 1 LIMIT 1",
                                   sql_name(ranking_.label), sql_name(name))));
      CORTADO_ASSIGN_OR_RETURN(const bool row, differ.step());
      if (row) found.push_back(name);
    }
    return found;
  }

  Result<std::string> plain_sql() {
    std::vector<std::string> chosen = request_.columns;
    if (chosen.empty()) {
      for (const std::string& axis : shown_axes_) {
        const std::string asked = "asked." + axis;  // where rows have such a column, too
        chosen.push_back(std::ranges::count(columns_, asked) > 0 ? asked : axis);
      }
      chosen.push_back(ranking_.label);
      CORTADO_ASSIGN_OR_RETURN(const std::vector<std::string> more, distinguishing());
      chosen.insert(chosen.end(), more.begin(), more.end());
      chosen.insert(chosen.end(), {ranking_.column, ranking_.score});
    }
    std::vector<std::string> names;
    for (const std::string& name : chosen) {
      if (std::ranges::count(columns_, name) > 0 && std::ranges::count(names, sql_name(name)) == 0) {
        names.push_back(sql_name(name));
      }
    }
    return fmt::format("SELECT {} FROM {} ORDER BY point, row", join(names),
                       request_.best ? fmt::format("({})", best_sql(ranking_, rows_left())) : rows_left());
  }

  bool is_key(const std::string& name) const { return std::ranges::count(keys_, name) > 0; }

  /// A key that is called like a column that all groups have is by.NAME.
  std::string key_name(const std::string& name) const {
    return std::ranges::count(kOfGroups, name) > 0 ? "by." + name : name;
  }

  std::string grouped_sql() const {
    std::vector<std::string> keys;
    std::vector<std::string> named;
    std::vector<std::string> places;  // of the keys, for GROUP BY
    for (const std::string& key : keys_) {
      keys.push_back(sql_name(key));
      named.push_back(fmt::format("{} AS {}", sql_name(key), sql_name(key_name(key))));
      places.push_back(fmt::format("{}", places.size() + 1));
    }
    if (!ranked()) {
      return fmt::format("SELECT {}, count(*) AS \"rows\" FROM {} GROUP BY {} ORDER BY {}", join(named), rows_left(),
                         join(places), join(places));
    }
    const std::string label = sql_name(ranking_.label);
    const std::string score = sql_name(scored());
    if (request_.best) {
      // Names with # are those of no axis.
      std::vector<std::string> inner;
      std::vector<std::string> outer;
      for (std::size_t i = 0; i < keys_.size(); ++i) {
        inner.push_back(fmt::format("{} AS \"#{}\"", keys[i], i));
        outer.push_back(fmt::format("\"#{}\" AS {}", i, sql_name(key_name(keys_[i]))));
      }
      const std::string winners =
          is_key(ranking_.label)
              ? ""
              : fmt::format("group_concat(CASE WHEN \"#place\" = 1 THEN \"#label\" END, ', ') AS {}, ",
                            sql_name(key_name(ranking_.label)));
      return fmt::format(
          "SELECT {0}, sum(\"#n\") AS points, {1}max(\"#n\") AS wins, sum(\"#sum\") * 1.0 / sum(\"#scores\") AS mean, "
          "min(\"#low\") AS least, max(\"#high\") AS most FROM (SELECT {2}, {3} AS \"#label\", count(*) AS \"#n\", "
          "count({4}) AS \"#scores\", sum({4}) AS \"#sum\", min({4}) AS \"#low\", max({4}) AS \"#high\", rank() OVER "
          "(PARTITION BY {5} ORDER BY count(*) DESC) AS \"#place\" FROM ({6}) GROUP BY {7}, \"#label\" ORDER BY {7}, "
          "\"#label\") GROUP BY {7} ORDER BY {7}",
          join(outer), winners, join(inner), label, score, join(keys), best_sql(ranking_, rows_left()), join(places));
    }
    if (!is_key(ranking_.label)) {
      named.push_back(fmt::format("{} AS {}", label, sql_name(key_name(ranking_.label))));
      places.push_back(fmt::format("{}", places.size() + 1));
    }
    return fmt::format(
        "SELECT {0}, count(*) AS points, sum(regret = 0) AS wins, avg({1}) AS mean, min({1}) AS least, max({1}) AS "
        "most, avg(regret) AS mean_regret FROM ({2}) GROUP BY {3} ORDER BY {3}",
        join(named), score, regret_sql(ranking_, rows_left()), join(places));
  }

  Result<Statement> prepared(const std::string& sql) {
    auto statement = database_.prepare(sql);
    if (statement) return statement;
    return fail(of_condition(statement.error()));
  }

  /// All of a statement but the condition is ours.
  Diagnostic of_condition(Diagnostic wrong) const {
    if (!request_.where.empty()) {
      wrong.hint = "--where takes an SQL condition on the columns, such as 'speedup > 1.2'";
    }
    return wrong;
  }

  Result<report::Table> rows(const std::string& sql) {
    CORTADO_ASSIGN_OR_RETURN(Statement statement, prepared(sql));
    report::Table table{.meaning = "one per row of an answer, or per group"};
    for (int i = 0; i < statement.columns(); ++i) {
      const std::string name = statement.name(i);
      table.columns.push_back(
          {.key = name, .head = head_of(name), .meaning = meaning_of(name), .notation = report::Notation::shortest});
    }
    for (;;) {
      const auto row = statement.step();
      if (!row) return fail(of_condition(row.error()));
      if (!*row) return table;
      report::Row cells;
      for (int i = 0; i < statement.columns(); ++i) cells.push_back(cell_of(statement.value(i)));
      table.rows.push_back(std::move(cells));
    }
  }

  bool of_score(const std::string& name) const {
    return !keys_.empty() && (name == "mean" || name == "least" || name == "most");
  }

  bool of_groups_best() const { return !keys_.empty() && request_.best; }
  /// The column of groups that has their most frequent winners.
  bool is_winner(const std::string& name) const {
    return of_groups_best() && !is_key(ranking_.label) && name == key_name(ranking_.label);
  }

  std::string head_of(const std::string& name) const {
    // The best of every point, whichever it is: not only what is named.
    if (is_winner(name)) return "most often best";
    return of_score(name) ? fmt::format("{} {}{}", name, of_groups_best() ? "best " : "", scored()) : name;
  }

  std::string meaning_of(const std::string& name) const {
    if (is_winner(name)) return "best at most points of the group; several: at equally many";
    if (of_score(name)) {
      return fmt::format("{}{} over the group", scored(), of_groups_best() ? " of the best of every point" : "");
    }
    if (!keys_.empty()) {
      if (name == "points") return "of the group";
      if (name == "wins") return "points at which it is best";
      if (name == "mean_regret") return fmt::format("{} over that of the best, minus 1, on average", ranking_.column);
    }
    return std::ranges::count(axes_, name) > 0 ? "axis" : fmt::format("as in cortado {} --json", question_);
  }

  std::vector<report::Chart> charts(const report::Table& table) const {
    using Kind = report::Chart::Kind;
    if (!ranked() || table.rows.empty()) return {};
    std::vector<std::string> labels;
    for (const std::string& key : keys_) labels.push_back(key_name(key));
    const std::string winner = key_name(ranking_.label);
    if (keys_.size() == 2 && request_.best && !is_key(ranking_.label)) {
      return {{.kind = Kind::map,
               .title = fmt::format("{} of the best {}, mean", scored(), ranking_.label),
               .values = {"mean"},
               .labels = labels,
               .series = {winner},
               .about = fmt::format("Colour: {}; words: the {} that is best most often.", scored(), ranking_.label)}};
    }
    if (keys_.size() != 1) return {};
    report::Chart lines{.kind = Kind::lines,
                        .title = fmt::format("{} over {}, mean", scored(), keys_[0]),
                        .values = {"mean"},
                        .labels = labels};
    if (!request_.best && !is_key(ranking_.label)) lines.series = {winner};
    return {lines};
  }

  Database& database_;
  const ShowRequest& request_;
  std::string question_;
  Ranking ranking_;
  std::vector<std::string> keys_;  // to group by
  PointCounts counts_;
  std::vector<std::string> axes_;
  std::vector<std::string> shown_axes_;  // the first of every zip
  std::vector<std::string> columns_;
};

}  // namespace

Result<report::Document> show_results(const std::string& path, const ShowRequest& request) {
  CORTADO_ASSIGN_OR_RETURN(Database database, open_results(path, Database::Access::read));
  return Shown(database, request).document();
}

Result<std::string> status_line(const std::string& path) {
  CORTADO_ASSIGN_OR_RETURN(Database database, open_results(path, Database::Access::read));
  CORTADO_ASSIGN_OR_RETURN(const PointCounts counts, count_points(database));
  std::string line = fmt::format("{} of {} points done, {} failed", counts.done, counts.all(), counts.failed);
  const auto owner = owner_of(path);
  if (!owner)
    return line + (counts.waiting > 0
                       ? fmt::format("; {} are waiting, and no process is working on them", counts.waiting)
                       : "");
  line += fmt::format("; {} writes", owner->who);
  const auto seconds = static_cast<double>(std::time(nullptr) - owner->since);
  const auto now = static_cast<double>(counts.done + counts.failed - owner->finished);
  if (seconds > 0 && now > 0) {
    line += fmt::format(", {:.1f} points per second, {:.0f} s left", now / seconds,
                        static_cast<double>(counts.waiting) * seconds / now);
  }
  return line;
}

}  // namespace cortado::sweep
