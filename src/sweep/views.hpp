// The views of a database of results.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sweep/spec.hpp"

namespace cortado::sweep {

/// The statements that make the views anew. `columns`: of every table of answers; axes are quoted names.
std::string views_sql(const std::vector<std::string>& axes,
                      const std::map<std::string, std::vector<std::string>>& columns, const Ranking& ranking);

}  // namespace cortado::sweep
