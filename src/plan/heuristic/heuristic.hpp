// What the heuristic looks at, its tree, and what it chooses among. fit/ fits the tree.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "plan/schedule_heuristic.hpp"

namespace cortado::plan {

/// What the tree may ask: ratios of rough times of two schedules, so that they mean the same on another machine.
///
/// A rough time is that of a schedule by a rule of thumb: GEMMs in whole waves of tiles, with the start of every
/// kernel; the collective at the rate of its links; kernels that copy rows; what GEMMs and links lose to each other.
/// schedule_features.cpp has the equations. A schedule that cannot be planned takes forever.
enum class ScheduleFeature {
  panels_over_serial,
  unfused_over_serial,
  fused_over_serial,
  panels_over_unfused,
  panels_over_fused,
  unfused_over_fused,
  hetero_over_uniform,  ///< hetero-fused-1d over uniform-fused-1d
};
inline constexpr std::array<std::string_view, 7> kFeatureNames{
    "panels_over_serial", "unfused_over_serial", "fused_over_serial",  "panels_over_unfused",
    "panels_over_fused",  "unfused_over_fused",  "hetero_over_uniform"};

using ScheduleFeatures = std::array<double, kFeatureNames.size()>;

/// Refuses what guess_schedule refuses.
Result<ScheduleFeatures> schedule_features(const DependentRequest& request, const Machine& machine);

/// A test or a leaf.
struct ScheduleTreeNode {
  bool leaf = false;
  ScheduleFeature feature{};  ///< this and the next three: of tests
  double threshold = 0;
  std::uint32_t below = 0;  ///< node to go to if the feature is below the threshold
  std::uint32_t above = 0;
  std::uint32_t choice = 0;  ///< this and the next three: of leaves. Index into guessed_schedules()
  std::uint32_t shapes = 0;  ///< of the training set that end here
  double share = 0;          ///< of these, for which the choice is the fastest
  double loss = 0;           ///< mean over these: by how much of the fastest time the choice is slower
};

/// Node 0 is the first test.
std::span<const ScheduleTreeNode> schedule_tree();

const ScheduleTreeNode& leaf_of(std::span<const ScheduleTreeNode> tree, const ScheduleFeatures& features);

/// serial, uniform-fused-1d, hetero-fused-1d, hetero-unfused-1d, uniform-fused-2d
std::span<const FiccoSchedule> guessed_schedules();
inline constexpr std::size_t kChoices = 5;

}  // namespace cortado::plan
