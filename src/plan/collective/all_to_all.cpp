#include "plan/collective/all_to_all.hpp"

#include "cortado/ir/contracts.hpp"

namespace cortado::plan {

AllToAll::AllToAll(Schedule& schedule) : schedule_(schedule) {
  const Bytes bytes = schedule.request().bytes;
  const std::uint32_t ranks = schedule.rank_count();
  const Blocks blocks(bytes, ranks, Bytes{1});
  for (const RankId rank : schedule.ranks()) {
    const Bytes received = blocks.size(rank.value);
    const Region in = schedule.buffer("in", rank, bytes, BufferRole::input);
    const Region out = schedule.buffer("out", rank, received * ranks, BufferRole::output);
    auto& sent_blocks = send_.emplace_back();
    auto& received_blocks = receive_.emplace_back();
    for (std::uint32_t i = 0; i < ranks; ++i) {
      sent_blocks.push_back(blocks.of(in, i));
      received_blocks.push_back(slice(out, received * i, received));
    }
  }
}

Result<Program> AllToAll::finish() {
  return schedule_.finish(all_to_all_contract(send_, receive_));
}

}  // namespace cortado::plan
