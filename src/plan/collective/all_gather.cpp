#include "plan/collective/all_gather.hpp"

#include "cortado/program.hpp"

namespace cortado::plan {

AllGather::AllGather(Schedule& schedule)
    : schedule_(schedule), blocks_(schedule.request().bytes, schedule.rank_count(), Bytes{1}) {
  const Bytes bytes = schedule.request().bytes;
  for (const RankId rank : schedule.ranks()) {
    if (schedule.request().in_place) {
      outputs_.push_back(schedule.buffer("buf", rank, bytes, BufferRole::inout));
      inputs_.push_back(blocks_.of(outputs_.back(), rank.value));
    } else {
      inputs_.push_back(schedule.buffer("in", rank, blocks_.size(rank.value), BufferRole::input));
      outputs_.push_back(schedule.buffer("out", rank, bytes, BufferRole::output));
    }
  }
}

void AllGather::copy_own_block(RankId rank) {
  if (!schedule_.request().in_place) schedule_.copy_locally(rank, input(rank), block(rank, rank));
}

Result<Program> AllGather::finish() {
  return schedule_.finish(all_gather_contract(inputs_, outputs_));
}

}  // namespace cortado::plan
