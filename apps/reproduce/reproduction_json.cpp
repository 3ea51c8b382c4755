#include "report/table_json.hpp"
#include "reproduce/reproduction.hpp"

namespace cortado::report {
namespace {

const char* to_string(published::Errors errors) {
  return errors == published::Errors::points ? "points" : "percent";
}

Cell reached(Goal goal) {
  return goal == Goal::none ? Cell() : Cell(goal == Goal::reached);
}

Table published_tables(const std::vector<ReproducedTable>& tables) {
  using T = ReproducedTable;
  return table_of<T>(
      "tables", "published tables",
      {{{.key = "name", .meaning = "of the table"}, [](const T& table) { return table.published.name; }},
       {{.key = "errors", .meaning = "`percent` of the published number, or `points` of shares"},
        [](const T& table) { return to_string(table.published.errors); }},
       {{.key = "mean_error", .meaning = "absolute, over all points"}, &T::mean_error},
       {{.key = "worst_error", .meaning = "absolute"}, &T::worst_error},
       {{.key = "goal_mean", .meaning = "goal that was set; null if none"},
        [](const T& table) { return table.published.goal_mean; }},
       {{.key = "goal_worst", .meaning = "the same"}, [](const T& table) { return table.published.goal_worst; }},
       {{.key = "reached", .meaning = "both goals are met; null without one"},
        [](const T& table) { return reached(table.goal()); }}},
      tables);
}

Table published_figures(const std::vector<ReproducedFigure>& figures) {
  using F = ReproducedFigure;
  return table_of<F>(
      "figures", "published single numbers",
      {{{.key = "name", .meaning = "name of the number"}, [](const F& figure) { return figure.published.name; }},
       {{.key = "title", .meaning = "in one line"}, [](const F& figure) { return figure.published.title; }},
       {{.key = "errors", .meaning = "as in `tables`"},
        [](const F& figure) { return to_string(figure.published.errors); }},
       {{.key = "goal_pct", .meaning = "greatest error; null if none"},
        [](const F& figure) { return figure.published.goal; }},
       {{.key = "reached", .meaning = "the goal is met; null without one"},
        [](const F& figure) { return reached(figure.goal()); }}},
      figures);
}

Table published_rows(const Reproduction& reproduction) {
  using R = ReproducedRow;
  return table_of<R>(
      "rows", "every published number",
      {{{.key = "item", .meaning = "what it is"}, &R::item},
       {{.key = "published", .meaning = "the published number"}, &R::published},
       {{.key = "ours", .meaning = "the simulated one"}, &R::ours},
       {{.key = "error_pct", .meaning = "error of ours in percent, or of shares in points; positive if ours is larger"},
        &R::error},
       {{.key = "used_for", .meaning = "`calibration` or `validation`"},
        [](const R& row) { return published::to_string(row.used_for); }}},
      reproduction.rows());
}

/// Their rows are added as JSON: every table has its own columns.
Table own_tables(const Reproduction& reproduction) {
  return table_of<Table>(
      "own", "our tables for which nothing was published",
      {{{.key = "name", .meaning = "name of the table"}, &Table::key},
       {{.key = "title", .meaning = "in one line"}, &Table::title},
       {{.key = "rows", .meaning = "list; keys are the column headings"}, [](const Table&) { return Cell(); }}},
      reproduction.own);
}

}  // namespace

Document reproduction_document(const Reproduction& one) {
  Document document{.schema = "cortado.reproduction"};
  document.facts = {{"name", one.name, "name to use with `cortado reproduce`"},
                    {"title", one.title, "title of the paper"},
                    {"source", one.source, "where to find it"},
                    {"machine", one.machine, "machine that ours was simulated on"},
                    {"reached", reached(one.goal()), "all goals are met; null without one"}};
  document.tables = {published_tables(one.tables), published_figures(one.figures), published_rows(one),
                     own_tables(one)};
  return document;
}

std::string reproduction_json(const std::vector<Reproduction>& all) {
  Json json{{"schema", "cortado.reproduction"}, {"version", 1}, {"reproductions", Json::array()}};
  for (const Reproduction& one : all) {
    Json& object = json["reproductions"].push_back(json_of(reproduction_document(one)));
    for (const char* key : {"schema", "version"}) object.erase(key);
    for (std::size_t i = 0; i < one.own.size(); ++i) object["own"][i]["rows"] = json_of(one.own[i]);
  }
  return dumped(json);
}

}  // namespace cortado::report
