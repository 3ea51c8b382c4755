#include "plan/heuristic/fit/fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "base/check.hpp"
#include "plan/choose_schedule.hpp"

namespace cortado::schedules {
namespace {

/// What cannot be planned, or is that much slower, is as bad.
constexpr double kMostLoss = 3;
constexpr double kNear = 0.02;

constexpr std::uint32_t kDepth = 5;       // tests on the longest path
constexpr std::size_t kLeastShapes = 20;  // of a leaf

using plan::kChoices;
using plan::ScheduleFeature;

/// As in schedule_tree.cpp.
constexpr std::array<const char*, kChoices> kChoiceWords{"serial", "uniform_fused_1d", "hetero_fused_1d",
                                                         "hetero_unfused_1d", "uniform_fused_2d"};

double capped(double slower) {
  return std::min(slower, kMostLoss);
}

std::size_t best_of(const Example& example) {
  return static_cast<std::size_t>(std::min_element(example.slower.begin(), example.slower.end()) -
                                  example.slower.begin());
}

/// Shapes on one side of a test.
class Side {
 public:
  void add(const Example& example, double sign = 1) {
    count_ += sign;
    best_[best_of(example)] += sign;
    for (std::size_t c = 0; c < kChoices; ++c) loss_[c] += sign * capped(example.slower[c]);
  }

  double count() const { return count_; }
  std::size_t choice() const {
    return static_cast<std::size_t>(std::min_element(costs().begin(), costs().end()) - costs().begin());
  }

  /// Pairs of shapes with different best choices, over shapes; and the loss of the best choice for all.
  double badness() const {
    double squares = 0;
    for (const double best : best_) squares += best * best;
    return count_ - squares / count_ + *std::min_element(loss_.begin(), loss_.end());
  }

 private:
  /// Of a leaf: misses and their loss.
  const std::array<double, kChoices>& costs() const {
    for (std::size_t c = 0; c < kChoices; ++c) costs_[c] = count_ - best_[c] + loss_[c];
    return costs_;
  }

  double count_ = 0;
  std::array<double, kChoices> best_{};
  std::array<double, kChoices> loss_{};
  mutable std::array<double, kChoices> costs_{};
};

/// Between two values, or as near to that as four digits can be.
double threshold_between(double below, double above) {
  const double middle = below > 0 ? std::sqrt(below * above) : (below + above) / 2;
  return std::stod(fmt::format("{:.4g}", middle));
}

class Fit {
 public:
  explicit Fit(const std::vector<Example>& examples) : examples_(examples) {}

  std::vector<ScheduleTreeNode> run() {
    std::vector<std::size_t> all(examples_.size());
    std::iota(all.begin(), all.end(), 0);
    grow(all, kDepth);
    return std::move(nodes_);
  }

 private:
  struct Test {
    std::size_t feature = 0;
    double threshold = 0;
    double badness = 0;
  };

  double value(std::size_t example, std::size_t feature) const { return examples_[example].features[feature]; }

  void grow(const std::vector<std::size_t>& shapes, std::uint32_t depth) {
    const std::size_t own = nodes_.size();
    nodes_.push_back(leaf(shapes));
    if (depth == 0) return;
    const std::optional<Test> test = best_test(shapes);
    if (!test) return;
    std::vector<std::size_t> below;
    std::vector<std::size_t> above;
    for (const std::size_t i : shapes) (value(i, test->feature) < test->threshold ? below : above).push_back(i);
    const ScheduleTreeNode as_leaf = nodes_[own];
    ScheduleTreeNode node{.feature = static_cast<ScheduleFeature>(test->feature), .threshold = test->threshold};
    node.below = static_cast<std::uint32_t>(nodes_.size());
    grow(below, depth - 1);
    node.above = static_cast<std::uint32_t>(nodes_.size());
    grow(above, depth - 1);
    const ScheduleTreeNode& a = nodes_[node.below];
    const ScheduleTreeNode& b = nodes_[node.above];
    if (a.leaf && b.leaf && a.choice == b.choice) {
      nodes_.resize(own + 1);
      nodes_[own] = as_leaf;
    } else {
      nodes_[own] = node;
    }
  }

  ScheduleTreeNode leaf(const std::vector<std::size_t>& shapes) const {
    Side side;
    for (const std::size_t i : shapes) side.add(examples_[i]);
    ScheduleTreeNode node{.leaf = true};
    node.choice = static_cast<std::uint32_t>(side.choice());
    node.shapes = static_cast<std::uint32_t>(shapes.size());
    for (const std::size_t i : shapes) {
      const double slower = examples_[i].slower[node.choice];
      node.share += slower == 0 ? 1 : 0;
      node.loss += capped(slower);
    }
    const auto rounded = [&](double sum) { return std::round(1000 * sum / static_cast<double>(shapes.size())) / 1000; };
    node.share = rounded(node.share);
    node.loss = rounded(node.loss);
    return node;
  }

  std::optional<Test> best_test(const std::vector<std::size_t>& shapes) const {
    std::optional<Test> best;
    for (std::size_t f = 0; f < plan::kFeatureNames.size(); ++f) {
      std::vector<std::size_t> sorted = shapes;
      std::stable_sort(sorted.begin(), sorted.end(),
                       [&](std::size_t a, std::size_t b) { return value(a, f) < value(b, f); });
      Side below;
      Side above;
      for (const std::size_t i : sorted) above.add(examples_[i]);
      for (std::size_t i = 0; i + 1 < sorted.size(); ++i) {
        below.add(examples_[sorted[i]]);
        above.add(examples_[sorted[i]], -1);
        const double here = value(sorted[i], f);
        const double next = value(sorted[i + 1], f);
        if (i + 1 < kLeastShapes || sorted.size() - i - 1 < kLeastShapes) continue;
        if (here == next || std::isinf(next)) continue;
        const double badness = below.badness() + above.badness();
        if (!best || badness < best->badness - 1e-9) best = {f, threshold_between(here, next), badness};
      }
    }
    return best;
  }

  const std::vector<Example>& examples_;
  std::vector<ScheduleTreeNode> nodes_;
};

/// Sums of judgements, until they are divided.
void count(double slower, Judgement& sum) {
  sum.shapes += 1;
  sum.picks += slower == 0 ? 1 : 0;
  sum.near_picks += slower <= kNear ? 1 : 0;
  sum.loss += capped(slower);
}

Judgement divided(Judgement sum) {
  const auto shapes = static_cast<double>(sum.shapes);
  sum.loss_on_miss = sum.picks < shapes ? sum.loss / (shapes - sum.picks) : 0;
  sum.picks /= shapes;
  sum.near_picks /= shapes;
  sum.loss /= shapes;
  return sum;
}

Result<std::size_t> column_of(const Table& table, FiccoSchedule schedule, const Machine& machine) {
  if (schedule.chunks == 0) schedule.chunks = default_chunks(machine.gpus);
  const auto found = std::find(table.candidates.begin(), table.candidates.end(), column_name(schedule));
  if (found == table.candidates.end()) {
    return fail("table.column", fmt::format("the table has no column {}", column_name(schedule)));
  }
  return static_cast<std::size_t>(found - table.candidates.begin());
}

}  // namespace

Result<std::vector<Example>> examples(const Table& table, const Machine& machine) {
  std::array<std::size_t, kChoices> columns{};
  for (std::size_t c = 0; c < kChoices; ++c) {
    CORTADO_ASSIGN_OR_RETURN(columns[c], column_of(table, plan::guessed_schedules()[c], machine));
  }
  std::vector<Example> all;
  for (const TimedShape& row : table.rows) {
    Example& example = all.emplace_back();
    CORTADO_ASSIGN_OR_RETURN(example.features, plan::schedule_features(row.request, machine));
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t c = 0; c < kChoices; ++c) {
      const auto& time = row.times[columns[c]];
      example.slower[c] = time ? static_cast<double>(time->value) : std::numeric_limits<double>::infinity();
      best = std::min(best, example.slower[c]);
    }
    for (double& time : example.slower) time = time / best - 1;
  }
  return all;
}

std::vector<ScheduleTreeNode> fit_tree(const std::vector<Example>& examples) {
  CORTADO_CHECK(!examples.empty(), "there is something to fit to");
  return Fit(examples).run();
}

Judgement judge(std::span<const ScheduleTreeNode> tree, const std::vector<Example>& examples) {
  Judgement sum;
  for (const Example& example : examples) count(example.slower[plan::leaf_of(tree, example.features).choice], sum);
  return divided(sum);
}

Result<Judgement> judge_auto(const Table& table, const Machine& machine, const CostModel& cost) {
  Judgement sum;
  for (const TimedShape& row : table.rows) {
    CORTADO_ASSIGN_OR_RETURN(const ScheduleChoice choice, auto_schedule(row.request, machine, cost));
    CORTADO_ASSIGN_OR_RETURN(const std::size_t column, column_of(table, choice.schedule, machine));
    Nanoseconds best{std::numeric_limits<std::int64_t>::max()};
    for (const auto& time : row.times) best = std::min(best, time.value_or(best));
    CORTADO_CHECK(row.times[column], "auto takes what can be planned");
    count(microseconds(*row.times[column]) / microseconds(best) - 1, sum);
  }
  return divided(sum);
}

std::string tree_source(std::span<const ScheduleTreeNode> tree) {
  std::string text;
  for (const ScheduleTreeNode& node : tree) {
    text +=
        node.leaf
            ? fmt::format("    leaf({}, {}, {}, {}),\n", kChoiceWords[node.choice], node.shapes, node.share, node.loss)
            : fmt::format("    test({}, {}, {}, {}),\n", plan::kFeatureNames[static_cast<std::size_t>(node.feature)],
                          node.threshold, node.below, node.above);
  }
  return text;
}

}  // namespace cortado::schedules
