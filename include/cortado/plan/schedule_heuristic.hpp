// Choosing a FiCCO schedule from shapes alone: a small decision tree over numbers that follow from the product, the
// collective and the machine. Nothing is planned or simulated, nothing is allocated; a guess takes a fraction of a
// microsecond.
//
// It chooses among serial and the four published schedules, with as many chunks as ranks. The tree was fitted to
// simulated times on mi300x-8 (data/schedules/training.csv, tools/schedules); docs/models.md prints it and says what
// its tests mean.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cortado/base/result.hpp"
#include "cortado/machine/machine.hpp"
#include "cortado/plan/ficco.hpp"

namespace cortado {

/// What the tree may ask. All are ratios, so that they mean the same on another machine.
///
/// A rough time is that of a schedule by a rule of thumb: products in whole waves of tiles, with the start of every
/// kernel; the collective at the rate of its links; kernels that copy rows; what products and links
/// lose to each other. schedule_features.cpp has
/// the equations. A schedule that cannot be planned takes forever.
enum class ScheduleFeature {
  product_first,  ///< 1 if the collective takes away what the product makes, else 0
  intensity,      ///< operations per byte of A, B and C, over those that the GPU does while its memory brings a byte
  traffic,        ///< time of A, B and C (MK + NK + MN) through the memory, over the start of a kernel
  m_over_k,       ///< rows that a rank multiplies over k
  communication,  ///< the collective alone over the product alone
  panels_over_serial,  ///< this and the next: ratios of rough times
  unfused_over_serial,
  fused_over_serial,
  panels_over_unfused,
  panels_over_fused,
  unfused_over_fused,
  hetero_over_uniform,  ///< hetero-fused-1d over uniform-fused-1d
};
inline constexpr std::size_t kScheduleFeatures = 12;

/// "uniform-fused-2d / serial"
std::string_view name_of(ScheduleFeature feature);

using ScheduleFeatures = std::array<double, kScheduleFeatures>;

/// Refuses products that no machine or not this one can do (check_gemm), and fewer ranks than two (ficco.ranks). Rows
/// that differ between ranks count as their mean.
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

/// serial, uniform-fused-1d, hetero-fused-1d, hetero-unfused-1d, uniform-fused-2d
std::span<const FiccoSchedule> guessed_schedules();

struct ScheduleGuess {
  FiccoSchedule schedule;
  double confidence = 0;   ///< share of the training shapes of the leaf for which it is the fastest
  double mean_loss = 0;    ///< over these shapes; 0.01 = 1 % slower than the fastest
  std::uint32_t leaf = 0;  ///< node of schedule_tree()
  double margin = 0;       ///< the least rough time of the other four over its own; below 1 where the tree knows better
};

Result<ScheduleGuess> guess_schedule(const DependentRequest& request, const Machine& machine);

/// Nodes from the first test to the leaf.
std::vector<std::uint32_t> schedule_path(const ScheduleFeatures& features);

}  // namespace cortado
