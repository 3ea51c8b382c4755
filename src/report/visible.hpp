// Which parts of a table Markdown and pages show.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "cortado/report.hpp"

namespace cortado::report {

/// All columns except those for data only and those without any value.
inline std::vector<std::size_t> visible_columns(const Table& table) {
  std::vector<std::size_t> visible;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    if (table.columns[c].view == View::data) continue;
    const bool filled =
        table.rows.empty() || std::ranges::any_of(table.rows, [&](const Row& row) { return !row[c].empty(); });
    if (filled) visible.push_back(c);
  }
  return visible;
}

}  // namespace cortado::report
