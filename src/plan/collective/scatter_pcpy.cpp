// scatter pcpy: the root pushes block j to rank j for j = root+1, root+2, ... modulo N, each copy in its own queue on
// the engine that the machine prefers for that peer.
#include "plan/collective/scatter.hpp"

namespace cortado::plan {
namespace {

Result<Program> plan_scatter_pcpy(Schedule& schedule) {
  Scatter scatter(schedule);
  for (const RankId peer : schedule.peers_after(scatter.root())) {
    schedule.lane_towards(scatter.root(), peer).copy(scatter.block(peer), scatter.output(peer));
  }
  return scatter.finish();
}

}  // namespace

Variant scatter_pcpy() {
  return {.info = {.collective = "scatter",
                   .variant = "pcpy",
                   .summary = "the root copies a block to every peer, one queue each",
                   .in_place = true,
                   .out_of_place = true},
          .plan = plan_scatter_pcpy,
          .rooted = true};
}

}  // namespace cortado::plan
