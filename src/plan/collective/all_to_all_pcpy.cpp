// all-to-all pcpy: every rank pushes block j to rank j for j = 0, 1, ... except itself, each copy in its own queue on
// the engine that the machine prefers for that peer.
#include "plan/collective/all_to_all.hpp"

namespace cortado::plan {
namespace {

Result<Program> plan_all_to_all_pcpy(Schedule& schedule) {
  AllToAll exchange(schedule);
  for (const RankId rank : schedule.ranks()) {
    for (const RankId peer : schedule.peers_ascending(rank)) {
      schedule.lane_towards(rank, peer).copy(exchange.sent(rank, peer), exchange.received(rank, peer));
    }
    exchange.copy_own_block(rank);
  }
  return exchange.finish();
}

}  // namespace

Variant all_to_all_pcpy() {
  return {.info = {.collective = "all-to-all",
                   .variant = "pcpy",
                   .summary = "one copy and one queue per peer, each on the engine nearest to it",
                   .in_place = false,
                   .out_of_place = true},
          .plan = plan_all_to_all_pcpy};
}

}  // namespace cortado::plan
