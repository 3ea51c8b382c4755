#include "plan/collective/reduce_scatter.hpp"

#include "plan/collective/core_kernels.hpp"
#include "plan/collective/ring.hpp"

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

/// cores-ll, cores-simple: every rank sends block j to rank j, which adds them up; one kernel per rank.
template <CoreProtocol kProtocol>
Result<Program> plan_reduce_scatter_cores(Schedule& schedule) {
  ReduceScatter scatter(schedule);
  CoreKernels kernels(schedule, kProtocol, CoreKernels::OwnPart::afterwards);
  kernels.reduce(scatter.reduction());
  return scatter.finish();
}

}  // namespace

std::vector<Variant> reduce_scatter_variants() {
  return {
      // pcpy: engines move every block to scratch memory of its owner; a kernel of the owner adds them.
      {.info = {.collective = "reduce-scatter",
                .variant = "pcpy",
                .summary = "copies into scratch memory of the owners, added there by a kernel",
                .in_place = true,
                .out_of_place = true},
       .plan = [](Schedule& schedule) { return plan_reduce_scatter(schedule, reduce_by_kernel); },
       .reduces = true},
      // add: engines add every block to the sum of its owner; no scratch memory and no kernel.
      {.info = {.collective = "reduce-scatter",
                .variant = "add",
                .summary = "copies that add at the owner, chained so that they never collide",
                .in_place = true,
                .out_of_place = true},
       .plan = [](Schedule& schedule) { return plan_reduce_scatter(schedule, reduce_by_adding); },
       .has = [](const Features& features) { return features.adds(); },
       .needs = "memory or engines that add (near_memory_compute, engine_add)",
       .reduces = true},
      {.info = {.collective = "reduce-scatter",
                .variant = "add-ring",
                .summary = "copies that add to the neighbour's block around a ring; the other blocks are used up",
                .in_place = true,
                .out_of_place = false},
       .plan =
           [](Schedule& schedule) {
             ReduceScatter scatter(schedule);
             Ring::on_engines(schedule).reduce_by_adding(terms_of(scatter.reduction()));
             return scatter.finish();
           },
       .has = [](const Features& features) { return features.near_memory_compute; },
       .needs = "memory that adds (near_memory_compute)",
       .reduces = true,
       .ring = true},
      {.info = {.collective = "reduce-scatter",
                .variant = "cores-ll",
                .summary = "kernels on compute units: blocks and flags into staging memory, added there; host per rank",
                .in_place = true,
                .out_of_place = true,
                .on_cores = true},
       .plan = plan_reduce_scatter_cores<CoreProtocol::ll>,
       .reduces = true},
      {.info =
           {.collective = "reduce-scatter",
            .variant = "cores-simple",
            .summary =
                "kernels on compute units: blocks into scratch memory after a handshake, added there; host per rank",
            .in_place = true,
            .out_of_place = true,
            .on_cores = true},
       .plan = plan_reduce_scatter_cores<CoreProtocol::simple>,
       .reduces = true},
      // cores-ring, add-ring: blocks go around a ring and grow into sums on their way to their owners.
      {.info = {.collective = "reduce-scatter",
                .variant = "cores-ring",
                .summary = "kernels on compute units, from neighbour to neighbour around a ring; host per rank",
                .in_place = true,
                .out_of_place = true,
                .on_cores = true},
       .plan =
           [](Schedule& schedule) {
             ReduceScatter scatter(schedule);
             Ring::on_cores(schedule).reduce_by_kernel(terms_of(scatter.reduction()));
             return scatter.finish();
           },
       .reduces = true,
       .ring = true},
  };
}

}  // namespace cortado::plan
