#include "plan/collective/all_reduce.hpp"

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

}  // namespace

/// add: a reduce-scatter by copies that add, then an all-gather of the sums.
Variant all_reduce_add() {
  return {.info = {.collective = "all-reduce",
                   .variant = "add",
                   .summary = "reduce-scatter by copies that add, then all-gather of the sums",
                   .in_place = true,
                   .out_of_place = true},
          .plan = [](Schedule& schedule) { return plan_all_reduce(schedule, reduce_by_adding); },
          .has = [](const Features& features) { return features.adds(); },
          .needs = "memory or engines that add (near_memory_compute, engine_add)",
          .reduces = true};
}

/// pcpy: a reduce-scatter by copies into scratch memory and kernels, then an all-gather of the sums.
Variant all_reduce_pcpy() {
  return {.info = {.collective = "all-reduce",
                   .variant = "pcpy",
                   .summary = "reduce-scatter by copies and a kernel, then all-gather of the sums",
                   .in_place = true,
                   .out_of_place = true},
          .plan = [](Schedule& schedule) { return plan_all_reduce(schedule, reduce_by_kernel); },
          .reduces = true};
}

}  // namespace cortado::plan
