// all-to-all cores-ll, cores-simple: every rank sends block j to rank j with one kernel. GPU-core libraries implement
// it as a send and a receive for each peer.
#include "plan/collective/all_to_all.hpp"
#include "plan/collective/core_kernels.hpp"

namespace cortado::plan {
namespace {

template <CoreProtocol kProtocol>
Result<Program> plan_all_to_all_cores(Schedule& schedule) {
  using enum CoreKernels::OwnPart;
  AllToAll exchange(schedule);
  CoreKernels kernels(schedule, kProtocol, schedule.request().own_block ? beside : none, CoreKernels::Calls::per_peer);
  std::vector<Delivery> blocks;
  for (const RankId rank : schedule.ranks()) {
    for (const RankId peer : schedule.peers_ascending(rank)) {
      blocks.push_back({rank, peer, exchange.sent(rank, peer), exchange.received(rank, peer)});
    }
    exchange.copy_own_block(rank);
  }
  kernels.deliver(blocks);
  return exchange.finish();
}

}  // namespace

Variant all_to_all_cores_ll() {
  return {.info = {.collective = "all-to-all",
                   .variant = "cores-ll",
                   .summary = "kernels on compute units, flags beside the data through staging memory; host per rank",
                   .in_place = false,
                   .out_of_place = true,
                   .on_cores = true,
                   .both_directions = true},
          .plan = plan_all_to_all_cores<CoreProtocol::ll>};
}

Variant all_to_all_cores_simple() {
  return {.info = {.collective = "all-to-all",
                   .variant = "cores-simple",
                   .summary = "kernels on compute units, straight to the output after a handshake; host per rank",
                   .in_place = false,
                   .out_of_place = true,
                   .on_cores = true,
                   .both_directions = true},
          .plan = plan_all_to_all_cores<CoreProtocol::simple>};
}

}  // namespace cortado::plan
