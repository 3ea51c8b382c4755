// all-to-all b2b: every rank pushes block j to rank j for j = 0, 1, ... except itself, with back-to-back copies in one
// queue that share one doorbell and one signal. With `ways` w there are ceil((N-1)/w) such queues.
#include "plan/collective/all_to_all.hpp"

namespace cortado::plan {
namespace {

Result<Program> plan_all_to_all_b2b(Schedule& schedule) {
  AllToAll exchange(schedule);
  for (const RankId rank : schedule.ranks()) {
    const std::vector<RankId> peers = schedule.peers_ascending(rank);
    std::vector<Lane> lanes = schedule.back_to_back_lanes(rank, peers);
    for (std::size_t i = 0; i < peers.size(); ++i) {
      lanes[i].copy(exchange.sent(rank, peers[i]), exchange.received(rank, peers[i]));
    }
    exchange.copy_own_block(rank);
  }
  return exchange.finish();
}

}  // namespace

Variant all_to_all_b2b() {
  return {
      .info = {.collective = "all-to-all",
               .variant = "b2b",
               .summary = "all copies of a rank back to back in one queue, one signal; at most `ways` copies per queue",
               .in_place = false,
               .out_of_place = true},
      .plan = plan_all_to_all_b2b,
      .takes_ways = true};
}

}  // namespace cortado::plan
