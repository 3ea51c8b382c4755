#include "plan/collective/reduce_scatter.hpp"

namespace cortado::plan {

ReduceScatter::ReduceScatter(Schedule& schedule)
    : schedule_(schedule),
      reduction_{Blocks(schedule.request().bytes, schedule.rank_count(), size_of(schedule.request().dtype)), {}, {}} {
  const Bytes bytes = schedule.request().bytes;
  const bool in_place = schedule.request().in_place;
  for (const RankId rank : schedule.ranks()) {
    const bool sums = in_place && reduction_.blocks.size(rank.value).value > 0;
    reduction_.inputs.push_back(
        schedule.buffer(in_place ? "buf" : "in", rank, bytes, sums ? BufferRole::inout : BufferRole::input));
    reduction_.sums.push_back(
        in_place ? reduction_.input_block(rank, rank)
                 : schedule.buffer("out", rank, reduction_.blocks.size(rank.value), BufferRole::output));
  }
}

Result<Program> ReduceScatter::finish() {
  std::vector<std::vector<Region>> input_blocks;  // [rank][owner]
  for (const RankId rank : schedule_.ranks()) {
    auto& of_rank = input_blocks.emplace_back();
    for (const RankId owner : schedule_.ranks()) of_rank.push_back(reduction_.input_block(rank, owner));
  }
  return schedule_.finish(reduce_scatter_contract(input_blocks, reduction_.sums, schedule_.request().dtype));
}

Result<Program> plan_reduce_scatter(Schedule& schedule, Reducer reduce) {
  ReduceScatter scatter(schedule);
  LaneGrid lanes(schedule);
  reduce(schedule, lanes, scatter.reduction());
  return scatter.finish();
}

}  // namespace cortado::plan
