// all-gather b2b: every rank i pushes its block to i+1, i+2, ... modulo N with back-to-back copies in one queue, so
// that they overlap in one engine and share one doorbell and one signal. With `ways` w there are ceil((N-1)/w) such
// queues.
#include "plan/collective/all_gather.hpp"

namespace cortado::plan {
namespace {

Result<Program> plan_all_gather_b2b(Schedule& schedule) {
  AllGather gather(schedule);
  for (const RankId rank : schedule.ranks()) {
    const std::vector<RankId> peers = schedule.peers_after(rank);
    std::vector<Lane> lanes = schedule.back_to_back_lanes(rank, peers);
    for (std::size_t i = 0; i < peers.size(); ++i) lanes[i].copy(gather.input(rank), gather.block(peers[i], rank));
    gather.copy_own_block(rank);
  }
  return gather.finish();
}

}  // namespace

Variant all_gather_b2b() {
  return {
      .info = {.collective = "all-gather",
               .variant = "b2b",
               .summary = "all copies of a rank back to back in one queue, one signal; at most `ways` copies per queue",
               .in_place = true,
               .out_of_place = true},
      .plan = plan_all_gather_b2b,
      .takes_ways = true};
}

}  // namespace cortado::plan
