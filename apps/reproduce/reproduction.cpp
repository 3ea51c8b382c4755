#include "reproduce/reproduction.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text.hpp"

namespace cortado::report {
namespace {

double error_of(double published, double ours, published::Errors errors) {
  return errors == published::Errors::points ? ours - published : 100 * (ours - published) / published;
}

/// For several: none has a goal, all goals are reached, or one is missed.
Goal both(Goal a, Goal b) {
  if (a == Goal::none) return b;
  return b == Goal::missed ? b : a;
}

Goal goal_of(double error, const std::optional<double>& greatest) {
  if (!greatest) return Goal::none;
  return std::abs(error) <= *greatest ? Goal::reached : Goal::missed;
}

}  // namespace

std::vector<ReproducedRow> ReproducedTable::rows() const {
  std::vector<ReproducedRow> all;
  for (std::size_t i = 0; i < published.sizes.size(); ++i) {
    for (std::size_t j = 0; j < published.columns.size(); ++j) {
      const std::optional<double> value = published.values[i][j];
      if (!value) continue;
      all.push_back({fmt::format("{} {} {}", published.name, format_bytes(published.sizes[i]), published.columns[j]),
                     *value, ours[i][j], error_of(*value, ours[i][j], published.errors), published.errors,
                     published.used_for});
    }
  }
  return all;
}

double ReproducedTable::mean_error() const {
  const auto all = rows();
  double sum = 0;
  for (const ReproducedRow& row : all) sum += std::abs(row.error);
  return all.empty() ? 0 : sum / static_cast<double>(all.size());
}

double ReproducedTable::worst_error() const {
  double worst = 0;
  for (const ReproducedRow& row : rows()) worst = std::max(worst, std::abs(row.error));
  return worst;
}

Goal ReproducedTable::goal() const {
  return both(goal_of(mean_error(), published.goal_mean), goal_of(worst_error(), published.goal_worst));
}

ReproducedRow ReproducedFigure::row() const {
  const double nearest = std::clamp(ours, published.published, published.published_to.value_or(published.published));
  return {published.name,   published.published, ours, error_of(nearest, ours, published.errors),
          published.errors, published.used_for};
}

Goal ReproducedFigure::goal() const {
  return goal_of(row().error, published.goal);
}

Table own_table(std::string name, std::string title, const std::vector<OwnColumn>& columns) {
  return {.key = std::move(name), .title = std::move(title), .columns = {columns.begin(), columns.end()}};
}

const ReproducedFigure* Reproduction::figure(std::string_view wanted) const {
  const auto found = std::find_if(figures.begin(), figures.end(),
                                  [&](const ReproducedFigure& one) { return one.published.name == wanted; });
  return found == figures.end() ? nullptr : &*found;
}

const Table* Reproduction::own_table(std::string_view wanted) const {
  const auto found = std::find_if(own.begin(), own.end(), [&](const Table& one) { return one.key == wanted; });
  return found == own.end() ? nullptr : &*found;
}

std::vector<ReproducedRow> Reproduction::rows() const {
  std::vector<ReproducedRow> all;
  for (const ReproducedTable& table : tables) {
    for (ReproducedRow& row : table.rows()) all.push_back(std::move(row));
  }
  for (const ReproducedFigure& figure : figures) all.push_back(figure.row());
  return all;
}

Goal Reproduction::goal() const {
  Goal all = Goal::none;
  for (const ReproducedTable& table : tables) all = both(all, table.goal());
  for (const ReproducedFigure& figure : figures) all = both(all, figure.goal());
  return all;
}

}  // namespace cortado::report
