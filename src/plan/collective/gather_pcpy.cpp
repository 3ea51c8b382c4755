// gather pcpy: every rank pushes its block to its place in the root's buffer, on the engine that the machine prefers
// for the root.
//
//   out of place: in<r> goes to block r of out<root>, including the root's own
//   in place:     the root's block is already at its place in buf<root>
#include "cortado/program.hpp"

#include "plan/collective/blocks.hpp"
#include "plan/collective/variant.hpp"

namespace cortado::plan {
namespace {

Result<Program> plan_gather_pcpy(Schedule& schedule) {
  const Bytes bytes = schedule.request().bytes;
  const RankId root = schedule.request().root;
  const bool in_place = schedule.request().in_place;
  const Blocks blocks(bytes, schedule.rank_count(), Bytes{1});
  const Region output =
      schedule.buffer(in_place ? "buf" : "out", root, bytes, in_place ? BufferRole::inout : BufferRole::output);
  std::vector<Region> inputs;
  for (const RankId rank : schedule.ranks()) {
    const Region block = blocks.of(output, rank.value);
    if (in_place && rank == root) {
      inputs.push_back(block);
      continue;
    }
    inputs.push_back(schedule.buffer("in", rank, block.bytes(), BufferRole::input));
    if (rank == root) {
      schedule.copy_locally(rank, inputs.back(), block);
    } else {
      schedule.lane_towards(rank, root).copy(inputs.back(), block);
    }
  }
  return schedule.finish(gather_contract(inputs, output));
}

}  // namespace

Variant gather_pcpy() {
  return {.info = {.collective = "gather",
                   .variant = "pcpy",
                   .summary = "every rank copies its block to the root",
                   .in_place = true,
                   .out_of_place = true},
          .plan = plan_gather_pcpy,
          .rooted = true};
}

}  // namespace cortado::plan
