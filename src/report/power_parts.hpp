// The parts of a report on power that text, JSON and page share.
#pragma once

#include <string>
#include <vector>

#include "cortado/report/power.hpp"

namespace cortado::report {

/// "8192x8192x8192 bf16 and all-gather cores-simple of 256MiB, on 8 ranks of mi300x-8"
std::string power_title(const PowerReport& report);

/// "cap of a board 750 W, limit of uniform-cap 600 W, an idle GPU draws 137 W", and how it was simulated.
std::string power_basis(const PowerReport& report);

/// The table: header and one line of cells a row.
std::vector<std::string> power_header();
std::vector<std::string> power_cells(const PowerRow& row);

}  // namespace cortado::report
