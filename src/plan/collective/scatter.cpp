#include "plan/collective/scatter.hpp"

#include "cortado/program.hpp"

#include "plan/collective/blocks.hpp"

namespace cortado::plan {

Scatter::Scatter(Schedule& schedule) : schedule_(schedule) {
  const Bytes bytes = schedule.request().bytes;
  const bool in_place = schedule.request().in_place;
  const Blocks blocks(bytes, schedule.rank_count(), Bytes{1});
  const bool keeps = in_place && blocks.size(root().value).value > 0;
  const Region whole =
      schedule.buffer(in_place ? "buf" : "in", root(), bytes, keeps ? BufferRole::inout : BufferRole::input);
  for (const RankId rank : schedule.ranks()) {
    blocks_.push_back(blocks.of(whole, rank.value));
    outputs_.push_back(in_place && rank == root()
                           ? blocks_.back()
                           : schedule.buffer("out", rank, blocks.size(rank.value), BufferRole::output));
  }
}

Result<Program> Scatter::finish() {
  if (!schedule_.request().in_place) schedule_.copy_locally(root(), block(root()), output(root()));
  return schedule_.finish(scatter_contract(blocks_, outputs_));
}

}  // namespace cortado::plan
