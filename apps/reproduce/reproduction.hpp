// Published numbers next to ours: what `cortado reproduce` shows.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cortado/report.hpp"

#include "reproduce/published/published.hpp"

namespace cortado::report {

/// One number; error as the table defines it (percent or points), positive if ours is larger.
struct ReproducedRow {
  std::string item;  ///< "all-gather 64KiB b2b+PL"
  double published = 0;
  double ours = 0;
  double error = 0;
  published::Errors errors = published::Errors::percent;
  published::UsedFor used_for = published::UsedFor::validation;
};

/// Whether the required errors were reached.
enum class Goal { none, reached, missed };

struct ReproducedTable {
  published::Table published;
  std::vector<std::vector<double>> ours;  ///< [size][column]

  std::vector<ReproducedRow> rows() const;  ///< without the points left out
  double mean_error() const;                ///< absolute
  double worst_error() const;               ///< absolute
  Goal goal() const;                        ///< of both errors, if they have goals
};

struct ReproducedFigure {
  published::Figure published;
  double ours = 0;  ///< its error counts from the nearer end of a published range

  ReproducedRow row() const;
  Goal goal() const;
};

/// A column of one of our tables; its name is the key in JSON.
struct OwnColumn {
  std::string name;
  int digits = 0;  ///< of numbers, after the point
  View view = View::narrow;

  operator Column() const { return {.key = name, .head = name, .digits = digits, .view = view}; }
};

/// Our numbers for which nothing was published.
Table own_table(std::string name, std::string title, const std::vector<OwnColumn>& columns);

struct Reproduction {
  std::string name;
  std::string title;
  std::string source;
  std::string machine;  ///< on which ours was simulated
  std::vector<ReproducedTable> tables;
  std::vector<ReproducedFigure> figures;
  std::vector<Table> own{};

  const ReproducedFigure* figure(std::string_view name) const;  ///< nullptr if there is none
  const Table* own_table(std::string_view name) const;          ///< nullptr if there is none
  std::vector<ReproducedRow> rows() const;                      ///< everything published
  Goal goal() const;                                            ///< of everything that has one; none if nothing has one
};

std::string reproduction_text(const std::vector<Reproduction>& all, const TextOptions& options = {});
std::string reproduction_markdown(const std::vector<Reproduction>& all);  ///< docs/accuracy.md

/// What the page of a reproduction shows: its figures, every table with a chart, and tables of ours.
Document reproduction_page(const Reproduction& one);

/// One of the list "reproductions" of "cortado.reproduction".
Document reproduction_document(const Reproduction& one);
std::string reproduction_json(const std::vector<Reproduction>& all);

}  // namespace cortado::report
