// all-to-all swap: one packet swaps block j of rank i and block i of rank j, both directions at once. Each unordered
// pair has one owner whose engine does it: ranks take pairs from rank 0 upward, at most ceil((N-1)/2) each.
#include <utility>

#include <fmt/format.h>

#include "cortado/program.hpp"

#include "base/check.hpp"
#include "base/text.hpp"
#include "plan/collective/blocks.hpp"
#include "plan/collective/variant.hpp"

namespace cortado::plan {
namespace {

/// (owner, partner) of every unordered pair, by owner.
std::vector<std::pair<RankId, RankId>> hand_out_pairs(std::uint32_t ranks) {
  const std::uint32_t most = ranks / 2;  // ceil((N-1)/2)
  std::vector<std::pair<RankId, RankId>> pairs;
  std::vector<std::vector<bool>> taken(ranks, std::vector<bool>(ranks, false));
  for (std::uint32_t owner = 0; owner < ranks; ++owner) {
    std::uint32_t owned = 0;
    for (std::uint32_t partner = 0; partner < ranks && owned < most; ++partner) {
      if (partner == owner || taken[partner][owner]) continue;
      taken[owner][partner] = true;
      taken[partner][owner] = true;
      pairs.push_back({{owner}, {partner}});
      ++owned;
    }
  }
  CORTADO_CHECK(pairs.size() == std::size_t{ranks} * (ranks - 1) / 2, "every pair of ranks has an owner");
  return pairs;
}

Result<Program> plan_all_to_all_swap(Schedule& schedule) {
  const Bytes bytes = schedule.request().bytes;
  const Bytes unit = schedule.swap_alignment() * schedule.rank_count();
  if (bytes.value % unit.value != 0) {
    return fail(
        About::strategy, "plan.size",
        fmt::format("all-to-all swap exchanges equal blocks in multiples of {} bytes: {} over {} ranks is not a "
                    "multiple of {} bytes",
                    schedule.swap_alignment().value, format_bytes(bytes), schedule.rank_count(), unit.value),
        nearest_multiples(bytes, unit) + ", or variant pcpy out of place");
  }
  const Blocks blocks(bytes, schedule.rank_count(), schedule.swap_alignment());
  std::vector<std::vector<Region>> block;  // [rank][peer]: sent to the peer, replaced by what the peer sends
  for (const RankId rank : schedule.ranks()) {
    const Region buffer = schedule.buffer("buf", rank, bytes, BufferRole::inout);
    auto& of_rank = block.emplace_back();
    for (const RankId peer : schedule.ranks()) of_rank.push_back(blocks.of(buffer, peer.value));
  }
  for (const auto& [owner, partner] : hand_out_pairs(schedule.rank_count())) {
    schedule.lane_towards(owner, partner).swap(block[owner.value][partner.value], block[partner.value][owner.value]);
  }
  return schedule.finish(all_to_all_contract(block, block));
}

}  // namespace

Variant all_to_all_swap() {
  return {.info = {.collective = "all-to-all",
                   .variant = "swap",
                   .summary = "swap packets exchange the blocks of a pair in place; half the commands",
                   .in_place = true,
                   .out_of_place = false},
          .plan = plan_all_to_all_swap,
          .has = [](const Features& features) { return features.swap; },
          .needs = "swap packets"};
}

}  // namespace cortado::plan
