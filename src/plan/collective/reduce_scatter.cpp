#include "plan/collective/reduce_scatter.hpp"

namespace cortado::plan {

Result<Program> plan_reduce_scatter(Schedule& schedule, Reducer reduce) {
  const Bytes bytes = schedule.request().bytes;
  const DType dtype = schedule.request().dtype;
  Reduction reduction{Blocks(bytes, schedule.rank_count(), size_of(dtype)), {}, {}};
  std::vector<std::vector<Region>> input_blocks;  // [rank][owner]
  for (const RankId rank : schedule.ranks()) {
    const bool in_place = schedule.request().in_place;
    reduction.inputs.push_back(
        schedule.buffer(in_place ? "buf" : "in", rank, bytes, in_place ? BufferRole::inout : BufferRole::input));
    reduction.sums.push_back(in_place
                                 ? reduction.input_block(rank, rank)
                                 : schedule.buffer("out", rank, reduction.blocks.size(rank.value), BufferRole::output));
    auto& of_rank = input_blocks.emplace_back();
    for (const RankId owner : schedule.ranks()) of_rank.push_back(reduction.input_block(rank, owner));
  }
  LaneGrid lanes(schedule);
  reduce(schedule, lanes, reduction);
  return schedule.finish(reduce_scatter_contract(input_blocks, reduction.sums, dtype));
}

}  // namespace cortado::plan
