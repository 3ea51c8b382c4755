// scatter b2b: the root pushes block j to rank j for j = root+1, root+2, ... modulo N with back-to-back copies in one
// queue that share one doorbell and one signal. With `ways` w there are ceil((N-1)/w) such queues.
#include "plan/collective/scatter.hpp"

namespace cortado::plan {
namespace {

Result<Program> plan_scatter_b2b(Schedule& schedule) {
  Scatter scatter(schedule);
  const std::vector<RankId> peers = schedule.peers_after(scatter.root());
  std::vector<Lane> lanes = schedule.back_to_back_lanes(scatter.root(), peers);
  for (std::size_t i = 0; i < peers.size(); ++i) lanes[i].copy(scatter.block(peers[i]), scatter.output(peers[i]));
  return scatter.finish();
}

}  // namespace

Variant scatter_b2b() {
  return {.info = {.collective = "scatter",
                   .variant = "b2b",
                   .summary = "all copies of the root back to back in one queue, one signal",
                   .in_place = true,
                   .out_of_place = true},
          .plan = plan_scatter_b2b,
          .rooted = true,
          .takes_ways = true};
}

}  // namespace cortado::plan
