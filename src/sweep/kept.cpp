#include "sweep/kept.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "sweep/answer.hpp"
#include "sweep/axis_columns.hpp"
#include "sweep/sqlite.hpp"
#include "sweep/views.hpp"

namespace cortado::sweep {
namespace {

using Names = std::vector<std::string>;

bool has(const Names& names, const std::string& name) {
  return std::ranges::count(names, name) > 0;
}

class KeptCheck {
 public:
  KeptCheck(const Spec& spec, const Question& question)
      : spec_(spec),
        answer_(question.answer()),
        ranking_(ranking_of(spec, question)),
        command_(fmt::format("cortado {}", question.name())) {}

  Status check() {
    Names tables;
    for (const report::Table& table : answer_.tables) tables.push_back(table.key);
    for (const std::string& name : spec_.tables) CORTADO_RETURN_IF_ERROR(known("table", name, tables, "keep.tables"));
    if (spec_.ranking) CORTADO_RETURN_IF_ERROR(known("table", ranking_.table, tables, "rank.table"));
    const Names kept_tables = spec_.tables.empty() ? Names{tables.front()} : spec_.tables;
    Names columns;
    for (const std::string& table : kept_tables) {
      for (const std::string& column : columns_of(table)) columns.push_back(column);
    }
    for (const std::string& name : spec_.columns)
      CORTADO_RETURN_IF_ERROR(known("column", name, columns, "keep.columns"));
    if (!has(kept_tables, ranking_.table)) {
      return refuse(fmt::format("the table {} is ranked, but keep.tables does not have it", ranking_.table),
                    fmt::format("add \"{}\", or rank the rows of another table: [rank]", ranking_.table),
                    "keep.tables");
    }
    CORTADO_RETURN_IF_ERROR(ranked_column(ranking_.label, "rank.label"));
    CORTADO_RETURN_IF_ERROR(ranked_column(ranking_.column, "rank.column"));
    if (!ranking_.within.empty()) CORTADO_RETURN_IF_ERROR(ranked_column(ranking_.within, "rank.within"));
    if (spec_.ranking) CORTADO_RETURN_IF_ERROR(ranked_column(ranking_.score, "rank.score"));
    return condition();
  }

 private:
  Names columns_of(const std::string& table) const {
    Names names;
    const auto found = std::ranges::find(answer_.tables, table, &report::Table::key);
    for (const report::Column& column : found->columns) names.push_back(column.key);
    return names;
  }

  Names kept_columns_of(const std::string& table) const {
    Names names = columns_of(table);
    std::erase_if(names, [&](const std::string& name) { return !spec_.columns.empty() && !has(spec_.columns, name); });
    return names;
  }

  Unexpected<Diagnostic> refuse(std::string message, std::string hint, const std::string& key) const {
    return fail({"sweep.column", std::move(message), std::move(hint), in_file(spec_.file, 0, key)});
  }

  Status known(std::string_view kind, const std::string& name, const Names& all, const std::string& key) const {
    if (has(all, name)) return {};
    return refuse(fmt::format("answers of {} have no {} \"{}\"", command_, kind, name), suggestion(name, all), key);
  }

  Status ranked_column(const std::string& name, const std::string& key) const {
    CORTADO_RETURN_IF_ERROR(known("column", name, columns_of(ranking_.table), key));
    if (has(kept_columns_of(ranking_.table), name)) return {};
    return refuse(fmt::format("rows are ranked by {}, but keep.columns does not have it", name),
                  fmt::format("add \"{}\", or rank by another column: [rank]", name), "keep.columns");
  }

  /// In a database without points: it must be complete by itself, and so between parentheses.
  Status condition() const {
    if (ranking_.condition.empty()) return {};
    std::map<std::string, Names> columns{{ranking_.table, kept_columns_of(ranking_.table)}};
    Names& facts = columns[std::string(kFacts)];
    for (const report::Fact& fact : answer_.facts) facts.push_back(fact.key);
    const Names axes = axis_columns(spec_);
    CORTADO_ASSIGN_OR_RETURN(Database database, Database::open(":memory:", Database::Access::create));
    CORTADO_RETURN_IF_ERROR(database.run(fmt::format("CREATE TABLE points(point, {})", join(axes))));
    for (const auto& [table, names] : columns) {
      std::string list = "point, row";
      for (const std::string& name : names) list += ", " + sql_name(name);
      CORTADO_RETURN_IF_ERROR(database.run(fmt::format("CREATE TABLE {}({})", sql_name(table), list)));
    }
    CORTADO_RETURN_IF_ERROR(database.run(views_sql(axes, columns, ranking_)));
    const auto alone = database.prepare("SELECT 1 FROM results WHERE " + ranking_.condition);
    const auto inside = database.prepare(best_sql(ranking_, "results"));
    if (alone && inside) return {};
    return fail({"sweep.sql",
                 fmt::format("\"{}\", which tells what can be the best, is not a condition on what is kept: {}",
                             ranking_.condition, alone ? inside.error().message : alone.error().message),
                 spec_.columns.empty() ? "use an SQL expression over axes and columns"
                                       : "add its columns to keep.columns, or rank in another way: [rank]",
                 in_file(spec_.file, 0,
                         spec_.ranking && !spec_.ranking->condition.empty() ? "rank.condition" : "keep.columns")});
  }

  const Spec& spec_;
  report::Document answer_;
  Ranking ranking_;
  std::string command_;
};

}  // namespace

Status check_kept(const Spec& spec, const Question& question) {
  return KeptCheck(spec, question).check();
}

}  // namespace cortado::sweep
