// The tree that guesses a schedule from shapes, for people and for scripts.
#pragma once

#include <optional>
#include <string>

#include "cortado/plan/choose_schedule.hpp"
#include "cortado/plan/schedule_heuristic.hpp"

#include "json.hpp"

namespace cortado::cli {

/// What is known of one product: what the tree asks, and what `auto` takes.
struct ExplainedSchedule {
  ScheduleFeatures features{};
  ScheduleChoice choice{};
};

/// One line a test or leaf; with a product the lines of its path are marked and have its values, and what `auto` takes
/// follows.
std::string schedule_tree_text(const std::optional<ExplainedSchedule>& product);

/// "nodes", and with a product "features", "path", "guess" and "auto".
Json schedule_tree_json(const std::optional<ExplainedSchedule>& product);

}  // namespace cortado::cli
