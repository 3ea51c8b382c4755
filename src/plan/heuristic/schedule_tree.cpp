// The nodes of the tree, as fit/ writes them (schedule_fit). Leaves: choice, shapes of the training set that
// end there, share of these for which the choice is the fastest, mean loss.
#include "plan/heuristic/heuristic.hpp"

namespace cortado::plan {
namespace {

using enum ScheduleFeature;

/// Places in guessed_schedules().
enum Choice : std::uint32_t { serial, uniform_fused_1d, hetero_fused_1d, hetero_unfused_1d, uniform_fused_2d };

constexpr ScheduleTreeNode test(ScheduleFeature feature, double threshold, std::uint32_t below, std::uint32_t above) {
  return {.feature = feature, .threshold = threshold, .below = below, .above = above};
}

constexpr ScheduleTreeNode leaf(Choice choice, std::uint32_t shapes, double share, double loss) {
  return {.leaf = true, .choice = choice, .shapes = shapes, .share = share, .loss = loss};
}

constexpr ScheduleTreeNode kTree[]{
    // clang-format off
    test(panels_over_serial, 0.993, 1, 6),
    test(panels_over_unfused, 0.9913, 2, 5),
    test(panels_over_fused, 1.002, 3, 4),
    leaf(uniform_fused_2d, 369, 0.789, 0.005),
    leaf(hetero_fused_1d, 66, 0.682, 0.023),
    leaf(hetero_unfused_1d, 120, 0.8, 0.007),
    test(fused_over_serial, 1.012, 7, 10),
    test(unfused_over_fused, 1.06, 8, 9),
    leaf(hetero_unfused_1d, 30, 0.667, 0.016),
    leaf(hetero_fused_1d, 72, 0.625, 0.013),
    test(unfused_over_serial, 1.008, 11, 12),
    leaf(hetero_unfused_1d, 19, 0.842, 0.002),
    leaf(serial, 524, 0.987, 0.001),
    // clang-format on
};

}  // namespace

std::span<const ScheduleTreeNode> schedule_tree() {
  return kTree;
}

}  // namespace cortado::plan
