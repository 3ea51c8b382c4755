// Results of a sweep as tables and charts.
#pragma once

#include <string>
#include <vector>

#include "cortado/report.hpp"
#include "cortado/result.hpp"

namespace cortado::sweep {

struct ShowRequest {
  bool best = false;                    ///< the best row of every point
  std::vector<std::string> group_by{};  ///< columns: one row for each combination of their values
  std::string where{};                  ///< SQL condition over the columns of the view results; empty: all
  std::vector<std::string> columns{};   ///< of rows that are not grouped; empty: axes and what ranks rows
};

/// "cortado.sweep". With one column to group by its page has lines, with two a heat map. Refuses unknown columns with
/// the nearest known one (sweep.column), and conditions that are no SQL (sweep.sql).
Result<report::Document> show_results(const std::string& path, const ShowRequest& request);

/// "812 of 1000 points done, 3 failed; process 4711 on host n12 writes, 52 points a second, 4 s left".
Result<std::string> status_line(const std::string& path);

}  // namespace cortado::sweep
