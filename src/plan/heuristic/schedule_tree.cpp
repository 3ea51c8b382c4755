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
    test(fused_over_serial, 1.009, 1, 18),
    test(unfused_over_fused, 1.015, 2, 9),
    test(hetero_over_uniform, 0.983, 3, 4),
    leaf(hetero_unfused_1d, 83, 0.976, 0),
    test(unfused_over_fused, 0.9854, 5, 6),
    leaf(hetero_unfused_1d, 56, 0.768, 0.001),
    test(panels_over_fused, 1.008, 7, 8),
    leaf(hetero_fused_1d, 25, 0.4, 0.005),
    leaf(hetero_unfused_1d, 23, 0.696, 0.002),
    test(panels_over_fused, 1.004, 10, 15),
    test(unfused_over_fused, 1.448, 11, 14),
    test(hetero_over_uniform, 0.9851, 12, 13),
    leaf(hetero_fused_1d, 41, 0.829, 0.001),
    leaf(uniform_fused_2d, 81, 0.617, 0.006),
    leaf(uniform_fused_2d, 89, 0.685, 0.015),
    test(fused_over_serial, 0.9792, 16, 17),
    leaf(hetero_fused_1d, 264, 0.788, 0.011),
    leaf(serial, 22, 0.545, 0.013),
    test(panels_over_serial, 0.9712, 19, 20),
    leaf(uniform_fused_2d, 44, 0.818, 0.011),
    test(unfused_over_serial, 1.021, 21, 22),
    leaf(hetero_unfused_1d, 25, 0.76, 0.005),
    leaf(serial, 447, 0.96, 0.001),
    // clang-format on
};

}  // namespace

std::span<const ScheduleTreeNode> schedule_tree() {
  return kTree;
}

}  // namespace cortado::plan
