// The nodes of the tree, as tools/schedules writes them (schedule_fit). Leaves: choice, shapes of the training set that
// end there, share of these for which the choice is the fastest, mean loss.
#include "cortado/plan/schedule_heuristic.hpp"

namespace cortado {
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
    test(panels_over_serial, 0.9998, 1, 8),
    test(panels_over_unfused, 1.006, 2, 7),
    test(panels_over_fused, 1.004, 3, 4),
    leaf(uniform_fused_2d, 351, 0.806, 0.004),
    test(communication, 1.185, 5, 6),
    leaf(hetero_fused_1d, 38, 0.763, 0.012),
    leaf(uniform_fused_2d, 27, 0.556, 0.013),
    leaf(hetero_unfused_1d, 115, 0.843, 0.01),
    test(fused_over_serial, 1.055, 9, 14),
    test(unfused_over_fused, 1.005, 10, 11),
    leaf(hetero_unfused_1d, 20, 0.65, 0.006),
    test(hetero_over_uniform, 0.99, 12, 13),
    leaf(hetero_fused_1d, 60, 0.7, 0.017),
    leaf(uniform_fused_1d, 27, 0.444, 0.009),
    test(unfused_over_serial, 1.003, 15, 16),
    leaf(hetero_unfused_1d, 22, 1, 0),
    leaf(serial, 540, 0.961, 0.002),
    // clang-format on
};

}  // namespace

std::span<const ScheduleTreeNode> schedule_tree() {
  return kTree;
}

}  // namespace cortado
