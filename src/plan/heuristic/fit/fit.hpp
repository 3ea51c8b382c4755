// Fitting the tree of the heuristic to a table, and judging it by another.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "plan/heuristic/fit/table.hpp"
#include "plan/heuristic/heuristic.hpp"

namespace cortado::schedules {

using plan::ScheduleTreeNode;

/// What is known of one GEMM: features, and by how much of the fastest time each choice is slower (infinite: it
/// cannot be planned).
struct Example {
  plan::ScheduleFeatures features;
  std::array<double, plan::kChoices> slower;
};

/// From the columns of a table that guessed_schedules() names, with as many chunks as ranks.
Result<std::vector<Example>> examples(const Table& table, const Machine& machine);

/// Greedy, three tests on the longest path, leaves of 20 shapes or more: every test is the one that leaves the least
/// sum of impurity (Gini) and of loss; a loss counts up to kMostLoss. Tests whose sides choose alike are taken back.
/// Thresholds have four digits.
std::vector<ScheduleTreeNode> fit_tree(const std::vector<Example>& examples);

struct Judgement {
  std::size_t shapes = 0;
  double picks = 0;       ///< share of shapes for which the choice is the fastest
  double near_picks = 0;  ///< or at most 2 % slower
  double loss_on_miss = 0;
  double loss = 0;  ///< mean over all
};

Judgement judge(std::span<const ScheduleTreeNode> tree, const std::vector<Example>& examples);

/// What auto_schedule takes, against all columns.
Result<Judgement> judge_auto(const Table& table, const Machine& machine, const CostModel& cost);

/// The tree as the C++ source of its nodes.
std::string tree_source(std::span<const ScheduleTreeNode> tree);

}  // namespace cortado::schedules
