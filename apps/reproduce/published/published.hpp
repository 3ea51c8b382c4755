// Published results as data: the tables and figures of papers, with their sources (published/*.toml).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cortado/result.hpp"

namespace cortado::published {

enum class UsedFor {
  calibration,  ///< constants of a machine file were fitted to it, or it follows from what they were fitted to
  validation,   ///< kept apart
};

/// How ours is compared with the published number.
enum class Errors {
  percent,  ///< of the published number
  points,   ///< the plain difference, for shares
};

struct Source {
  std::string text;
  std::string confidence;  ///< as in machine files (machine.hpp)
};

/// Numbers by size and column.
struct Table {
  std::string name;
  std::string title;
  std::string unit;
  Errors errors = Errors::percent;
  Source source;
  UsedFor used_for = UsedFor::validation;
  std::optional<double> goal_mean;   ///< mean absolute error that we must reach
  std::optional<double> goal_worst;  ///< largest absolute error that we must reach
  std::vector<std::string> columns;
  std::vector<Bytes> sizes;
  std::vector<std::vector<std::optional<double>>> values;  ///< [size][column]; none: left out as noise
};

/// One number.
struct Figure {
  std::string name;
  std::string title;
  std::string unit;
  double published = 0;
  std::optional<double> published_to;  ///< upper end, if a range was published: nothing within it is an error
  Errors errors = Errors::percent;
  Source source;
  UsedFor used_for = UsedFor::validation;
  std::optional<double> goal;  ///< largest allowed absolute error; none: shown only
};

struct Publication {
  std::string name;
  std::string title;
  std::string machine;  ///< on which it was measured
  std::string source;
  std::vector<Table> tables;
  std::vector<Figure> figures;

  const Table* table(std::string_view name) const;  ///< nullptr if there is none
};

const char* to_string(UsedFor used_for);

std::vector<std::string> publication_names();  ///< sorted
Result<Publication> load_publication(const std::string& name);
Result<Publication> parse_publication(const std::string& text, const std::string& file);

}  // namespace cortado::published
