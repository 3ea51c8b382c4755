// component-cap: the pace is what the board alone would give (none); components that do not set the pace get the clock
// that the work needs at that pace, and the power that they no longer draw is saved.
#include <algorithm>

#include "sim/power/policies/policy.hpp"

namespace cortado::sim {
namespace {

constexpr std::array kMovedToday{Component::xcd};  // by software

Clocks decide_component_cap(const GpuActivity& activity, const PolicyInputs& inputs) {
  const Clocks board = decide_as_board(activity, inputs);
  const double speed = activity.speed_at(board);
  Clocks clocks = board;
  for (std::size_t i = 0; i < kClocked.size(); ++i) {
    if (activity.needed[i] <= 0 || !inputs.moves[i] || activity.keeps_clock(kClocked[i])) continue;
    const double need = activity.needed[i] * speed * (1 + inputs.headroom);
    clocks.set(kClocked[i], clock_for(inputs.power, kClocked[i], need, board.of(kClocked[i])));
  }
  return clocks;
}

}  // namespace

extern const PowerPolicy kComponentCap{
    .name = "component-cap",
    .summary = "clocks down components that are not the bottleneck: xcd, or those of --components",
    .components = kMovedToday,
    .decide = decide_component_cap};

}  // namespace cortado::sim
