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
  return ScheduleGuess{kGuessed[tree[at].choice], tree[at].share, tree[at].loss, at};
}

std::vector<std::uint32_t> schedule_path(const ScheduleFeatures& features) {
  const std::span<const ScheduleTreeNode> tree = schedule_tree();
  std::vector<std::uint32_t> path{0};
  while (!tree[path.back()].leaf) path.push_back(next(tree[path.back()], features));
  return path;
}

}  // namespace cortado
