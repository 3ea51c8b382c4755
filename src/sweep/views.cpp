#include "sweep/views.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/text.hpp"
#include "sweep/answer.hpp"
#include "sweep/sqlite.hpp"

namespace cortado::sweep {
namespace {

/// A column of the view results.
struct ViewColumn {
  std::string value;
  std::string name;  ///< quoted
};

/// Axes, then rows, then facts that have no name of these. An axis whose name a column of rows has, too, such as
/// strategy, is what was asked for: "asked.strategy".
std::vector<ViewColumn> shown_columns(const std::vector<std::string>& axes, const std::vector<std::string>& rows,
                                      const std::vector<std::string>& facts) {
  std::vector<ViewColumn> shown{{"p.point", "\"point\""}};
  std::set<std::string> taken{"\"point\""};
  for (const std::string& row : rows) taken.insert(folded(sql_name(row)));
  for (const std::string& axis : axes) {
    const bool is_new = taken.insert(folded(axis)).second;
    shown.push_back({"p." + axis, is_new ? axis : "\"asked." + axis.substr(1)});
  }
  shown.push_back({"t.row", "\"row\""});
  for (const std::string& row : rows) shown.push_back({"t." + sql_name(row), sql_name(row)});
  for (const std::string& fact : facts) {
    if (taken.insert(folded(sql_name(fact))).second) shown.push_back({"f." + sql_name(fact), sql_name(fact)});
  }
  return shown;
}

/// Whether it competes; which rows it competes with.
std::string competes(const Ranking& ranking) {
  return ranking.condition.empty() ? "1" : fmt::format("({})", ranking.condition);
}
std::string rivals(const Ranking& ranking) {
  return ranking.within.empty() ? "point" : fmt::format("point, {}", sql_name(ranking.within));
}

}  // namespace

// Names with # are those of no axis.

std::string best_sql(const Ranking& ranking, std::string_view source) {
  const std::string column = sql_name(ranking.column);
  return fmt::format(
      "SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY {} ORDER BY {} {}, row) AS \"#place\" FROM {} WHERE {} "
      "AND {} IS NOT NULL) WHERE \"#place\" = 1",
      rivals(ranking), column, ranking.greatest ? "DESC" : "ASC", source, competes(ranking), column);
}

std::string regret_sql(const Ranking& ranking, std::string_view source) {
  const std::string column = sql_name(ranking.column);
  const std::string ratio = ranking.greatest ? fmt::format("\"#best\" * 1.0 / nullif({}, 0)", column)
                                             : fmt::format("{} * 1.0 / nullif(\"#best\", 0)", column);
  return fmt::format(
      "SELECT *, CASE WHEN {0} = \"#best\" THEN 0.0 ELSE {1} - 1 END AS regret FROM (SELECT *, {2}({0}) OVER "
      "(PARTITION BY {3}) AS \"#best\" FROM {4} WHERE {5})",
      column, ratio, ranking.greatest ? "max" : "min", rivals(ranking), source, competes(ranking));
}

std::string views_sql(const std::vector<std::string>& axes,
                      const std::map<std::string, std::vector<std::string>>& columns, const Ranking& ranking) {
  std::string sql;
  for (const char* view : {"by_axis", "regret", "best", "results"}) sql += fmt::format("DROP VIEW IF EXISTS {};", view);
  const auto rows = columns.find(ranking.table);
  if (rows == columns.end()) return sql;
  const auto facts = columns.find(std::string(kFacts));
  const std::vector<ViewColumn> shown =
      shown_columns(axes, rows->second, facts == columns.end() ? std::vector<std::string>{} : facts->second);
  std::vector<std::string> selected;
  std::vector<std::string> names;
  for (const ViewColumn& column : shown) {
    selected.push_back(fmt::format("{} AS {}", column.value, column.name));
    names.push_back(column.name);
  }
  sql += fmt::format("CREATE VIEW results AS SELECT {} FROM points p JOIN {} t ON t.point = p.point{};", join(selected),
                     sql_name(ranking.table), facts == columns.end() ? "" : " LEFT JOIN facts f ON f.point = p.point");
  const auto has = [&](const std::string& name) { return std::ranges::count(rows->second, name) > 0; };
  if (!has(ranking.column) || !has(ranking.label)) return sql;  // an older version did not refuse such a spec
  const std::string all = join(names);
  sql += fmt::format("CREATE VIEW best AS SELECT {} FROM ({});", all, best_sql(ranking, "results"));
  sql += fmt::format("CREATE VIEW regret AS SELECT {}, regret FROM ({});", all, regret_sql(ranking, "results"));
  const std::string score = sql_name(has(ranking.score) ? ranking.score : ranking.column);
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    parts.push_back(fmt::format(
        "SELECT '{}' AS axis, {} AS value, {} AS label, count(*) AS points, sum(regret = 0) AS wins, avg({}) AS "
        "mean_score, min({}) AS least_score, max({}) AS most_score, avg(regret) AS mean_regret FROM regret GROUP BY "
        "2, 3",
        join(split(axes[i].substr(1, axes[i].size() - 2), '\''), "''"), names[i + 1], sql_name(ranking.label), score,
        score, score));
  }
  return sql + fmt::format("CREATE VIEW by_axis AS {};", join(parts, " UNION ALL "));
}

}  // namespace cortado::sweep
