#include <algorithm>
#include <cmath>
#include <limits>

#include "plan/heuristic/heuristic.hpp"

namespace cortado {
namespace plan {
namespace {

/// With plain copies, as schedules by name are.
constexpr FiccoSchedule cut(bool uniform, bool fused, CommShape shape) {
  return {.shape = shape, .uniform = uniform, .fused = fused, .exchange = ExchangeVariant::pcpy};
}

constexpr std::array<FiccoSchedule, kChoices> kGuessed{
    FiccoSchedule{.grain = Grain::whole, .exchange = ExchangeVariant::pcpy}, cut(true, true, CommShape::rows_1d),
    cut(false, true, CommShape::rows_1d), cut(false, false, CommShape::rows_1d), cut(true, true, CommShape::panels_2d)};

/// Rough times of guessed_schedules(), over that of serial.
std::array<double, kGuessed.size()> rough_times(const ScheduleFeatures& features) {
  using enum ScheduleFeature;
  const auto feature = [&](ScheduleFeature one) { return features[static_cast<std::size_t>(one)]; };
  const double fused = feature(fused_over_serial);
  const bool rows = std::isfinite(fused) && feature(hetero_over_uniform) > 0;
  const double uniform = rows ? fused / feature(hetero_over_uniform) : std::numeric_limits<double>::infinity();
  return {1, uniform, fused, feature(unfused_over_serial), feature(panels_over_serial)};
}

double margin_of(std::uint32_t choice, const ScheduleFeatures& features) {
  const auto times = rough_times(features);
  double next = std::numeric_limits<double>::infinity();
  for (std::uint32_t i = 0; i < times.size(); ++i) {
    if (i != choice) next = std::min(next, times[i]);
  }
  return next / times[choice];
}

}  // namespace

std::span<const FiccoSchedule> guessed_schedules() {
  return kGuessed;
}

const ScheduleTreeNode& leaf_of(std::span<const ScheduleTreeNode> tree, const ScheduleFeatures& features) {
  const ScheduleTreeNode* node = &tree[0];
  while (!node->leaf) {
    node = &tree[features[static_cast<std::size_t>(node->feature)] < node->threshold ? node->below : node->above];
  }
  return *node;
}

}  // namespace plan

Result<ScheduleGuess> guess_schedule(const DependentRequest& request, const Machine& machine) {
  const auto features = plan::schedule_features(request, machine);
  if (!features) return fail(features.error());
  const plan::ScheduleTreeNode& leaf = plan::leaf_of(plan::schedule_tree(), *features);
  return ScheduleGuess{plan::guessed_schedules()[leaf.choice], leaf.share, leaf.loss,
                       plan::margin_of(leaf.choice, *features)};
}

}  // namespace cortado
