// The tree that guesses a schedule from shapes, for people and for scripts.
#pragma once

#include <optional>
#include <string>

#include "cortado/plan/schedule_heuristic.hpp"

#include "json.hpp"

namespace cortado::cli {

/// One line a test or leaf; with the features of a product the lines of its path are marked and have its values.
std::string schedule_tree_text(const std::optional<ScheduleFeatures>& features);

/// "nodes", and with the features of a product "features", "path" and "guess".
Json schedule_tree_json(const std::optional<ScheduleFeatures>& features);

}  // namespace cortado::cli
