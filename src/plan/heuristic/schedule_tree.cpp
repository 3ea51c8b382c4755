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
    test(fused_over_serial, 1.008, 1, 16),
    test(unfused_over_fused, 1.039, 2, 9),
    test(hetero_over_uniform, 0.9759, 3, 4),
    leaf(hetero_unfused_1d, 73, 0.877, 0.001),
    test(fused_over_serial, 0.9094, 5, 8),
    test(unfused_over_fused, 0.9825, 6, 7),
    leaf(hetero_unfused_1d, 24, 0.542, 0.004),
    leaf(hetero_fused_1d, 82, 0.585, 0.003),
    leaf(hetero_unfused_1d, 28, 0.571, 0.007),
    test(panels_over_fused, 1.002, 10, 15),
    test(hetero_over_uniform, 0.9862, 11, 14),
    test(panels_over_unfused, 0.6706, 12, 13),
    leaf(uniform_fused_2d, 60, 0.567, 0.021),
    leaf(hetero_fused_1d, 39, 0.821, 0.001),
    leaf(uniform_fused_2d, 75, 0.64, 0.012),
    leaf(hetero_fused_1d, 278, 0.745, 0.012),
    test(panels_over_serial, 0.9786, 17, 18),
    leaf(uniform_fused_2d, 26, 0.846, 0.005),
    test(unfused_over_serial, 1.06, 19, 20),
    leaf(hetero_unfused_1d, 20, 0.5, 0.017),
    leaf(serial, 495, 0.943, 0.002),
    // clang-format on
};

}  // namespace

std::span<const ScheduleTreeNode> schedule_tree() {
  return kTree;
}

}  // namespace cortado::plan
