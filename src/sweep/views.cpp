#include "sweep/views.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/text.hpp"
#include "sweep/answer.hpp"
#include "sweep/sqlite.hpp"

namespace cortado::sweep {
namespace {

/// Axes, then rows, then facts that have no name of these. An axis whose name a column of rows has, too, such as
/// strategy, is what was asked for: "asked.strategy".
std::string results_sql(const std::vector<std::string>& axes, const std::vector<std::string>& rows,
                        const std::vector<std::string>& facts, const std::string& table) {
  std::vector<std::string> selected{"p.point"};
  std::set<std::string> taken{"\"point\""};
  for (const std::string& row : rows) taken.insert(sql_name(row));
  for (const std::string& axis : axes) {
    const bool clash = taken.contains(axis);
    selected.push_back(clash ? fmt::format("p.{} AS \"asked.{}", axis, axis.substr(1)) : "p." + axis);
    taken.insert(axis);
  }
  selected.emplace_back("t.row");
  for (const std::string& row : rows) selected.push_back("t." + sql_name(row));
  for (const std::string& fact : facts) {
    if (taken.insert(sql_name(fact)).second) selected.push_back("f." + sql_name(fact));
  }
  return fmt::format("CREATE VIEW results AS SELECT {} FROM points p JOIN {} t ON t.point = p.point{};", join(selected),
                     sql_name(table), facts.empty() ? "" : " LEFT JOIN facts f ON f.point = p.point");
}

}  // namespace

std::string views_sql(const std::vector<std::string>& axes,
                      const std::map<std::string, std::vector<std::string>>& columns, const Ranking& ranking) {
  std::string sql;
  for (const char* view : {"by_axis", "regret", "best", "results"}) sql += fmt::format("DROP VIEW IF EXISTS {};", view);
  const auto rows = columns.find(ranking.table);
  if (rows == columns.end()) return sql;
  const auto facts = columns.find(std::string(kFacts));
  sql += results_sql(axes, rows->second, facts == columns.end() ? std::vector<std::string>{} : facts->second,
                     ranking.table);
  const auto has = [&](const std::string& name) { return std::ranges::count(rows->second, name) > 0; };
  if (!has(ranking.column) || !has(ranking.label)) return sql;  // the spec does not keep them
  const std::string column = sql_name(ranking.column);
  const std::string label = sql_name(ranking.label);
  const std::string score = sql_name(has(ranking.score) ? ranking.score : ranking.column);
  const std::string wanted = ranking.condition.empty() ? "1" : ranking.condition;
  const char* const order = ranking.greatest ? "DESC" : "ASC";
  sql += fmt::format(
      "CREATE VIEW best AS SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY point ORDER BY {} {}, row) AS "
      "place "
      "FROM results WHERE ({}) AND {} IS NOT NULL) WHERE place = 1;",
      column, order, wanted, column);
  sql += fmt::format(
      "CREATE VIEW regret AS SELECT r.*, {} AS regret FROM results r JOIN (SELECT point AS of_point, {} AS least FROM "
      "results WHERE {} GROUP BY point) ON of_point = r.point WHERE {};",
      ranking.greatest ? fmt::format("least * 1.0 / nullif(r.{}, 0) - 1", column)
                       : fmt::format("r.{} * 1.0 / nullif(least, 0) - 1", column),
      fmt::format("{}({})", ranking.greatest ? "max" : "min", column), wanted, wanted);
  std::vector<std::string> parts;
  for (const std::string& axis : axes) {
    const std::string shown = has(axis.substr(1, axis.size() - 2)) ? "\"asked." + axis.substr(1) : axis;
    parts.push_back(fmt::format(
        "SELECT '{}' AS axis, {} AS value, {} AS label, count(*) AS points, sum(regret = 0) AS wins, avg({}) AS "
        "mean_score, min({}) AS least_score, max({}) AS most_score, avg(regret) AS mean_regret FROM regret GROUP BY "
        "{}, "
        "{}",
        join(split(axis.substr(1, axis.size() - 2), '\''), "''"), shown, label, score, score, score, shown, label));
  }
  return sql + fmt::format("CREATE VIEW by_axis AS {};", join(parts, " UNION ALL "));
}

}  // namespace cortado::sweep
