#include "plan/collective/all_reduce.hpp"

namespace cortado::plan {

Result<Program> plan_all_reduce(Schedule& schedule, Reducer reduce) {
  const Bytes bytes = schedule.request().bytes;
  const DType dtype = schedule.request().dtype;
  Reduction reduction{Blocks(bytes, schedule.rank_count(), size_of(dtype)), {}, {}};
  std::vector<Region> outputs;
  for (const RankId rank : schedule.ranks()) {
    if (schedule.request().in_place) {
      outputs.push_back(schedule.buffer("buf", rank, bytes, BufferRole::inout));
      reduction.inputs.push_back(outputs.back());
    } else {
      reduction.inputs.push_back(schedule.buffer("in", rank, bytes, BufferRole::input));
      outputs.push_back(schedule.buffer("out", rank, bytes, BufferRole::output));
    }
    reduction.sums.push_back(reduction.blocks.of(outputs.back(), rank.value));
  }

  LaneGrid lanes(schedule);
  for (const ReducedPiece& piece : reduce(schedule, lanes, reduction)) {
    const Bytes offset = reduction.blocks.offset(piece.owner.value) + piece.offset;
    const Region sum = slice(outputs[piece.owner.value], offset, piece.bytes);
    for (const RankId peer : schedule.peers_after(piece.owner)) {
      Lane& lane = lanes.towards(piece.owner, peer);
      lane.wait(piece.ready);
      lane.copy(sum, slice(outputs[peer.value], offset, piece.bytes));
    }
  }
  return schedule.finish(all_reduce_contract(reduction.inputs, outputs, dtype));
}

}  // namespace cortado::plan
