#include <algorithm>
#include <cmath>
#include <limits>

#include "cortado/plan/schedule_heuristic.hpp"

namespace cortado {
namespace {

/// With plain copies, as schedules by name are.
constexpr FiccoSchedule cut(bool uniform, bool fused, CommShape shape) {
  return {.shape = shape, .uniform = uniform, .fused = fused, .exchange = ExchangeVariant::pcpy};
}

constexpr std::array kGuessed{FiccoSchedule{.grain = Grain::whole, .exchange = ExchangeVariant::pcpy},
                              cut(true, true, CommShape::rows_1d), cut(false, true, CommShape::rows_1d),
                              cut(false, false, CommShape::rows_1d), cut(true, true, CommShape::panels_2d)};

std::uint32_t next(const ScheduleTreeNode& node, const ScheduleFeatures& features) {
  return features[static_cast<std::size_t>(node.feature)] < node.threshold ? node.below : node.above;
}

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

Result<ScheduleGuess> guess_schedule(const DependentRequest& request, const Machine& machine) {
  const auto features = schedule_features(request, machine);
  if (!features) return tl::unexpected(features.error());
  const std::span<const ScheduleTreeNode> tree = schedule_tree();
  std::uint32_t at = 0;
  while (!tree[at].leaf) at = next(tree[at], *features);
  return ScheduleGuess{kGuessed[tree[at].choice], tree[at].share, tree[at].loss, at,
                       margin_of(tree[at].choice, *features)};
}

std::vector<std::uint32_t> schedule_path(const ScheduleFeatures& features) {
  const std::span<const ScheduleTreeNode> tree = schedule_tree();
  std::vector<std::uint32_t> path{0};
  while (!tree[path.back()].leaf) path.push_back(next(tree[path.back()], features));
  return path;
}

}  // namespace cortado
