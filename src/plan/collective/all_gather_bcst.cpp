// all-gather bcst: every rank pushes its block with packets that read it once and write it to two peers; see
// peer_pairs.hpp for which two and on which engine.
#include "plan/collective/all_gather.hpp"
#include "plan/collective/peer_pairs.hpp"

namespace cortado::plan {
namespace {

Result<Program> plan_all_gather_bcst(Schedule& schedule) {
  AllGather gather(schedule);
  for (const RankId rank : schedule.ranks()) {
    push_to_pairs(schedule, rank, gather.input(rank), [&](RankId peer) { return gather.block(peer, rank); });
    gather.copy_own_block(rank);
  }
  return gather.finish();
}

}  // namespace

Variant all_gather_bcst() {
  return {.info = {.collective = "all-gather",
                   .variant = "bcst",
                   .summary = "broadcast packets: one read, two peers; half the commands, signals and doorbells",
                   .in_place = true,
                   .out_of_place = true},
          .plan = plan_all_gather_bcst,
          .has = [](const Features& features) { return features.broadcast; },
          .needs = "broadcast packets"};
}

}  // namespace cortado::plan
