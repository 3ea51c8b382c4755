// The views of a database of results.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sweep/spec.hpp"

namespace cortado::sweep {

/// The statements that make the views anew. `columns`: of every table of answers; axes are quoted names.
std::string views_sql(const std::vector<std::string>& axes,
                      const std::map<std::string, std::vector<std::string>>& columns, const Ranking& ranking);

/// Of the rows of `source`, which has the columns of the view results: the best of those that compete.
std::string best_sql(const Ranking& ranking, std::string_view source);
/// All of them that compete, with the column regret: how much worse each is than the best.
std::string regret_sql(const Ranking& ranking, std::string_view source);

}  // namespace cortado::sweep
