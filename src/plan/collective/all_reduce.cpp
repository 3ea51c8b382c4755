#include "plan/collective/all_reduce.hpp"

#include "plan/collective/core_kernels.hpp"
#include "plan/collective/ring.hpp"

namespace cortado::plan {

AllReduce::AllReduce(Schedule& schedule)
    : schedule_(schedule),
      reduction_{Blocks(schedule.request().bytes, schedule.rank_count(), size_of(schedule.request().dtype)), {}, {}} {
  const Bytes bytes = schedule.request().bytes;
  for (const RankId rank : schedule.ranks()) {
    if (schedule.request().in_place) {
      outputs_.push_back(schedule.buffer("buf", rank, bytes, BufferRole::inout));
      reduction_.inputs.push_back(outputs_.back());
    } else {
      reduction_.inputs.push_back(schedule.buffer("in", rank, bytes, BufferRole::input));
      outputs_.push_back(schedule.buffer("out", rank, bytes, BufferRole::output));
    }
    reduction_.sums.push_back(reduction_.blocks.of(outputs_.back(), rank.value));
  }
}

Gathering AllReduce::gathering() const {
  Gathering gathering{reduction_.sums, {}};
  for (const RankId rank : schedule_.ranks()) {
    auto& places = gathering.places.emplace_back();
    for (const RankId owner : schedule_.ranks()) {
      places.push_back(sum(rank, owner, {}, reduction_.blocks.size(owner.value)));
    }
  }
  return gathering;
}

Result<Program> AllReduce::finish() {
  return schedule_.finish(all_reduce_contract(reduction_.inputs, outputs_, schedule_.request().dtype));
}

namespace {

/// With DMA engines. An owner starts to push a piece of its sum as soon as that piece is complete.
Result<Program> plan_all_reduce(Schedule& schedule, Reducer reduce) {
  AllReduce all(schedule);
  LaneGrid lanes(schedule);
  for (const ReducedPiece& piece : reduce(schedule, lanes, all.reduction())) {
    const Region sum = all.sum(piece.owner, piece.owner, piece.offset, piece.bytes);
    for (const RankId peer : schedule.peers_after(piece.owner)) {
      Lane& lane = lanes.towards(piece.owner, peer);
      lane.wait(piece.ready);
      lane.copy(sum, all.sum(peer, piece.owner, piece.offset, piece.bytes));
    }
  }
  return all.finish();
}

/// cores-ll, cores-simple: a reduce-scatter, then an all-gather of the sums, in one kernel per rank.
template <CoreProtocol kProtocol>
Result<Program> plan_all_reduce_cores(Schedule& schedule) {
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

std::vector<Variant> all_reduce_variants() {
  return {
      // pcpy: a reduce-scatter by copies into scratch memory and kernels, then an all-gather of the sums.
      {.info = {.collective = "all-reduce",
                .variant = "pcpy",
                .summary = "reduce-scatter by copies and a kernel, then all-gather of the sums",
                .in_place = true,
                .out_of_place = true},
       .plan = [](Schedule& schedule) { return plan_all_reduce(schedule, reduce_by_kernel); },
       .reduces = true},
      // add: a reduce-scatter by copies that add, then an all-gather of the sums.
      {.info = {.collective = "all-reduce",
                .variant = "add",
                .summary = "reduce-scatter by copies that add, then all-gather of the sums",
                .in_place = true,
                .out_of_place = true},
       .plan = [](Schedule& schedule) { return plan_all_reduce(schedule, reduce_by_adding); },
       .has = [](const Features& features) { return features.adds(); },
       .needs = "memory or engines that add (near_memory_compute, engine_add)",
       .reduces = true},
      {.info = {.collective = "all-reduce",
                .variant = "add-ring",
                .summary = "copies that add to the neighbour's block around a ring, then all-gather of the sums",
                .in_place = true,
                .out_of_place = false},
       .plan =
           [](Schedule& schedule) {
             AllReduce all(schedule);
             Ring ring = Ring::on_engines(schedule);
             ring.reduce_by_adding(terms_of(all.reduction()));
             ring.gather(all.gathering());
             return all.finish();
           },
       .has = [](const Features& features) { return features.near_memory_compute; },
       .needs = "memory that adds (near_memory_compute)",
       .reduces = true,
       .ring = true},
      {.info = {.collective = "all-reduce",
                .variant = "cores-ll",
                .summary =
                    "reduce-scatter by kernels with flags beside the data, then all-gather of the sums; host per rank",
                .in_place = true,
                .out_of_place = true,
                .on_cores = true},
       .plan = plan_all_reduce_cores<CoreProtocol::ll>,
       .reduces = true},
      {.info = {.collective = "all-reduce",
                .variant = "cores-simple",
                .summary = "reduce-scatter by kernels with handshakes, then all-gather of the sums; host per rank",
                .in_place = true,
                .out_of_place = true,
                .on_cores = true},
       .plan = plan_all_reduce_cores<CoreProtocol::simple>,
       .reduces = true},
      // cores-ring, add-ring: a reduce-scatter around a ring, then an all-gather of the sums around the same ring.
      {.info = {.collective = "all-reduce",
                .variant = "cores-ring",
                .summary = "reduce-scatter by kernels around a ring, then all-gather of the sums; host per rank",
                .in_place = true,
                .out_of_place = true,
                .on_cores = true},
       .plan =
           [](Schedule& schedule) {
             AllReduce all(schedule);
             Ring ring = Ring::on_cores(schedule);
             ring.reduce_by_kernel(terms_of(all.reduction()));
             ring.gather(all.gathering());
             return all.finish();
           },
       .reduces = true,
       .ring = true},
  };
}

}  // namespace cortado::plan
