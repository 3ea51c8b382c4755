#include "plan/collective/all_to_all.hpp"

#include "cortado/program.hpp"

namespace cortado::plan {

AllToAll::AllToAll(Schedule& schedule) : schedule_(schedule) {
  const Bytes bytes = schedule.request().bytes;
  const std::uint32_t ranks = schedule.rank_count();
  const Blocks blocks(bytes, ranks, Bytes{1});
  // If the rank's own block is left to the caller, the caller writes it.
  const BufferRole out_role = schedule.request().own_block ? BufferRole::output : BufferRole::inout;
  for (const RankId rank : schedule.ranks()) {
    const Bytes received = blocks.size(rank.value);
    const Region in = schedule.buffer("in", rank, bytes, BufferRole::input);
    const Region out = schedule.buffer("out", rank, received * ranks, out_role);
    auto& sent_blocks = send_.emplace_back();
    auto& received_blocks = receive_.emplace_back();
    for (std::uint32_t i = 0; i < ranks; ++i) {
      sent_blocks.push_back(blocks.of(in, i));
      received_blocks.push_back(slice(out, received * i, received));
    }
  }
}

void AllToAll::copy_own_block(RankId rank) {
  if (!schedule_.request().own_block) return;
  schedule_.copy_locally(rank, sent(rank, rank), received(rank, rank));
}

Result<Program> AllToAll::finish() {
  if (!schedule_.request().own_block) {
    for (const RankId rank : schedule_.ranks()) receive_[rank.value][rank.value].width = {};
    for (const RankId rank : schedule_.ranks()) send_[rank.value][rank.value].width = {};  // no clause for it
  }
  return schedule_.finish(all_to_all_contract(send_, receive_));
}

}  // namespace cortado::plan
