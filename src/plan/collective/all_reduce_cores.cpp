// all-reduce cores-ll, cores-simple: a reduce-scatter, then an all-gather of the sums, in one kernel per rank.
#include "plan/collective/all_reduce.hpp"
#include "plan/collective/core_kernels.hpp"

namespace cortado::plan {
namespace {

template <CoreProtocol kProtocol>
Result<Program> plan_all_reduce(Schedule& schedule) {
  AllReduce all(schedule);
  CoreKernels kernels(schedule, kProtocol, CoreKernels::OwnPart::afterwards);
  kernels.reduce(all.reduction());
  std::vector<Delivery> sums;
  for (const RankId owner : schedule.ranks()) {
    const Bytes bytes = all.reduction().blocks.size(owner.value);
    if (bytes.value == 0) continue;
    const SignalId summed = kernels.own_part(owner).raise(owner);
    for (const RankId peer : schedule.peers_after(owner)) {
      sums.push_back({owner, peer, all.sum(owner, owner, {}, bytes), all.sum(peer, owner, {}, bytes), summed});
    }
  }
  kernels.deliver(sums);
  return all.finish();
}

}  // namespace

Variant all_reduce_cores_ll() {
  return {
      .info = {.collective = "all-reduce",
               .variant = "cores-ll",
               .summary =
                   "reduce-scatter by kernels with flags beside the data, then all-gather of the sums; host per rank",
               .in_place = true,
               .out_of_place = true,
               .on_cores = true},
      .plan = plan_all_reduce<CoreProtocol::ll>,
      .reduces = true};
}

Variant all_reduce_cores_simple() {
  return {.info = {.collective = "all-reduce",
                   .variant = "cores-simple",
                   .summary = "reduce-scatter by kernels with handshakes, then all-gather of the sums; host per rank",
                   .in_place = true,
                   .out_of_place = true,
                   .on_cores = true},
          .plan = plan_all_reduce<CoreProtocol::simple>,
          .reduces = true};
}

}  // namespace cortado::plan
