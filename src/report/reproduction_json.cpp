#include <nlohmann/json.hpp>

#include "cortado/report/reproduction.hpp"

namespace cortado::report {
namespace {

using Json = nlohmann::ordered_json;

Json optional_number(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

const char* to_string(published::Errors errors) {
  return errors == published::Errors::points ? "points" : "percent";
}

Json reached(Goal goal) {
  return goal == Goal::none ? Json() : Json(goal == Goal::reached);
}

/// Every row is an object with the names of the columns as keys.
Json to_json(const OwnTable& table) {
  const std::vector<std::string> names = table.column_names();
  Json rows = Json::array();
  for (const auto& row : table.rows) {
    Json object;
    for (std::size_t i = 0; i < row.size(); ++i) {
      std::visit([&](const auto& value) { object[names[i]] = value; }, row[i]);
    }
    rows.push_back(std::move(object));
  }
  return {{"name", table.name}, {"title", table.title}, {"rows", std::move(rows)}};
}

Json to_json(const Reproduction& reproduction) {
  Json document{{"name", reproduction.name},
                {"title", reproduction.title},
                {"source", reproduction.source},
                {"machine", reproduction.machine},
                {"reached", reached(reproduction.goal())}};
  for (const ReproducedTable& table : reproduction.tables) {
    document["tables"].push_back({{"name", table.published.name},
                                  {"errors", to_string(table.published.errors)},
                                  {"mean_error", table.mean_error()},
                                  {"worst_error", table.worst_error()},
                                  {"goal_mean", optional_number(table.published.goal_mean)},
                                  {"goal_worst", optional_number(table.published.goal_worst)},
                                  {"reached", reached(table.goal())}});
  }
  for (const ReproducedFigure& figure : reproduction.figures) {
    document["figures"].push_back({{"name", figure.published.name},
                                   {"title", figure.published.title},
                                   {"errors", to_string(figure.published.errors)},
                                   {"goal_pct", optional_number(figure.published.goal)},
                                   {"reached", reached(figure.goal())}});
  }
  for (const ReproducedRow& row : reproduction.rows()) {
    document["rows"].push_back({{"item", row.item},
                                {"published", row.published},
                                {"ours", row.ours},
                                {"error_pct", row.error},
                                {"used_for", published::to_string(row.used_for)}});
  }
  for (const OwnTable& table : reproduction.own) document["own"].push_back(to_json(table));
  return document;
}

}  // namespace

std::string reproduction_json(const std::vector<Reproduction>& all) {
  Json document{{"schema", "cortado.reproduction"}, {"version", 1}, {"reproductions", Json::array()}};
  for (const Reproduction& one : all) document["reproductions"].push_back(to_json(one));
  return document.dump(2) + "\n";
}

}  // namespace cortado::report
