// Pages that need nothing but themselves, readable on light and on dark ground.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cortado/report.hpp"

namespace cortado::report {

/// A whole document around the body, which is HTML already. Pictures use the classes title, tick, grid and axis.
std::string html_page(std::string_view title, std::string_view body);

/// A row of a table; cells are HTML already.
std::string html_row(const std::vector<std::string>& cells, std::string_view tag);

/// Plain text in all cells.
std::string html_table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows);

/// All columns but those for data only.
std::string html_of(const Table& table);

}  // namespace cortado::report
