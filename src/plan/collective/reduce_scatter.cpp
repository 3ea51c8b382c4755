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

namespace {

/// With DMA engines.
Result<Program> plan_reduce_scatter(Schedule& schedule, Reducer reduce) {
  ReduceScatter scatter(schedule);
  LaneGrid lanes(schedule);
  reduce(schedule, lanes, scatter.reduction());
  return scatter.finish();
}

}  // namespace

/// add: engines add every block to the sum of its owner; no scratch memory and no kernel.
Variant reduce_scatter_add() {
  return {.info = {.collective = "reduce-scatter",
                   .variant = "add",
                   .summary = "copies that add at the owner, chained so that they never collide",
                   .in_place = true,
                   .out_of_place = true},
          .plan = [](Schedule& schedule) { return plan_reduce_scatter(schedule, reduce_by_adding); },
          .has = [](const Features& features) { return features.adds(); },
          .needs = "memory or engines that add (near_memory_compute, engine_add)",
          .reduces = true};
}

/// pcpy: engines move every block to scratch memory of its owner; a kernel of the owner adds them.
Variant reduce_scatter_pcpy() {
  return {.info = {.collective = "reduce-scatter",
                   .variant = "pcpy",
                   .summary = "copies into scratch memory of the owners, added there by a kernel",
                   .in_place = true,
                   .out_of_place = true},
          .plan = [](Schedule& schedule) { return plan_reduce_scatter(schedule, reduce_by_kernel); },
          .reduces = true};
}

}  // namespace cortado::plan
