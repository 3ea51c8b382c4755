// all-gather cores-ll, cores-simple: every rank sends its block to all others with one kernel.
#include "plan/collective/all_gather.hpp"
#include "plan/collective/core_kernels.hpp"

namespace cortado::plan {
namespace {

template <CoreProtocol kProtocol>
Result<Program> plan_all_gather_cores(Schedule& schedule) {
  using enum CoreKernels::OwnPart;
  AllGather gather(schedule);
  CoreKernels kernels(schedule, kProtocol, schedule.request().in_place ? none : beside);
  std::vector<Delivery> blocks;
  for (const RankId rank : schedule.ranks()) {
    for (const RankId peer : schedule.peers_after(rank)) {
      blocks.push_back({rank, peer, gather.input(rank), gather.block(peer, rank)});
    }
    gather.copy_own_block(rank);
  }
  kernels.deliver(blocks);
  return gather.finish();
}

}  // namespace

Variant all_gather_cores_ll() {
  return {.info = {.collective = "all-gather",
                   .variant = "cores-ll",
                   .summary = "kernels on compute units, flags beside the data through staging memory; host per rank",
                   .in_place = true,
                   .out_of_place = true,
                   .on_cores = true},
          .plan = plan_all_gather_cores<CoreProtocol::ll>};
}

Variant all_gather_cores_simple() {
  return {.info = {.collective = "all-gather",
                   .variant = "cores-simple",
                   .summary = "kernels on compute units, straight to the output after a handshake; host per rank",
                   .in_place = true,
                   .out_of_place = true,
                   .on_cores = true},
          .plan = plan_all_gather_cores<CoreProtocol::simple>};
}

}  // namespace cortado::plan
