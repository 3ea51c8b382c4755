#include "plan/collective/all_to_all.hpp"

#include <utility>

#include <fmt/format.h>

#include "cortado/program.hpp"

#include "base/check.hpp"
#include "base/text.hpp"
#include "plan/collective/blocks.hpp"
#include "plan/collective/core_kernels.hpp"
#include "plan/collective/variant.hpp"

namespace cortado::plan {

AllToAll::AllToAll(Schedule& schedule) : schedule_(schedule) {
  const std::uint32_t ranks = schedule.rank_count();
  const Blocks blocks(schedule.request().bytes, ranks, Bytes{1});
  const auto size = [&](std::uint32_t from, std::uint32_t to) {
    return schedule.sends().empty() ? blocks.size(to) : schedule.sends()[from][to];
  };
  // If the rank's own block is left to the caller, the caller writes it.
  const BufferRole out_role = schedule.request().own_block ? BufferRole::output : BufferRole::inout;
  for (const RankId rank : schedule.ranks()) {
    Bytes sends;
    Bytes receives;
    for (std::uint32_t peer = 0; peer < ranks; ++peer) {
      sends += size(rank.value, peer);
      receives += size(peer, rank.value);
    }
    const Region in = schedule.buffer("in", rank, sends, BufferRole::input);
    const Region out = schedule.buffer("out", rank, receives, out_role);
    auto& sent_blocks = send_.emplace_back();
    auto& received_blocks = receive_.emplace_back();
    Bytes sent;
    Bytes received;
    for (std::uint32_t peer = 0; peer < ranks; ++peer) {
      sent_blocks.push_back(slice(in, sent, size(rank.value, peer)));
      received_blocks.push_back(slice(out, received, size(peer, rank.value)));
      sent += size(rank.value, peer);
      received += size(peer, rank.value);
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

namespace {

/// pcpy: every rank pushes block j to rank j for j = 0, 1, ... except itself, each copy in its own queue on
/// the engine that the machine prefers for that peer.
Result<Program> plan_all_to_all_pcpy(Schedule& schedule) {
  AllToAll exchange(schedule);
  for (const RankId rank : schedule.ranks()) {
    for (const RankId peer : schedule.peers_ascending(rank)) {
      schedule.lane_towards(rank, peer).copy(exchange.sent(rank, peer), exchange.received(rank, peer));
    }
    exchange.copy_own_block(rank);
  }
  return exchange.finish();
}

/// swap: one packet swaps block j of rank i and block i of rank j, both directions at once. Each unordered
/// pair has one owner whose engine does it: ranks take pairs from rank 0 upward, at most ceil((N-1)/2) each.
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

/// b2b: every rank pushes block j to rank j for j = 0, 1, ... except itself, with back-to-back copies in one
/// queue that share one doorbell and one signal. With `ways` w there are ceil((N-1)/w) such queues.
Result<Program> plan_all_to_all_b2b(Schedule& schedule) {
  AllToAll exchange(schedule);
  for (const RankId rank : schedule.ranks()) {
    const std::vector<RankId> peers = schedule.peers_ascending(rank);
    std::vector<Lane> lanes = schedule.back_to_back_lanes(rank, peers);
    for (std::size_t i = 0; i < peers.size(); ++i) {
      lanes[i].copy(exchange.sent(rank, peers[i]), exchange.received(rank, peers[i]));
    }
    exchange.copy_own_block(rank);
  }
  return exchange.finish();
}

/// cores-ll, cores-simple: every rank sends block j to rank j with one kernel. GPU-core libraries implement
/// it as a send and a receive for each peer.
template <CoreProtocol kProtocol>
Result<Program> plan_all_to_all_cores(Schedule& schedule) {
  using enum CoreKernels::OwnPart;
  AllToAll exchange(schedule);
  CoreKernels kernels(schedule, kProtocol, schedule.request().own_block ? beside : none, CoreKernels::Calls::per_peer);
  std::vector<Delivery> blocks;
  for (const RankId rank : schedule.ranks()) {
    for (const RankId peer : schedule.peers_ascending(rank)) {
      blocks.push_back({rank, peer, exchange.sent(rank, peer), exchange.received(rank, peer)});
    }
    exchange.copy_own_block(rank);
  }
  kernels.deliver(blocks);
  return exchange.finish();
}

}  // namespace

std::vector<Variant> all_to_all_variants() {
  return {
      {.info = {.collective = "all-to-all",
                .variant = "pcpy",
                .summary = "one copy and one queue per peer, each on the engine nearest to it",
                .in_place = false,
                .out_of_place = true},
       .plan = plan_all_to_all_pcpy},
      {.info = {.collective = "all-to-all",
                .variant = "swap",
                .summary = "swap packets exchange the blocks of a pair in place; half the commands",
                .in_place = true,
                .out_of_place = false},
       .plan = plan_all_to_all_swap,
       .has = [](const Features& features) { return features.swap; },
       .needs = "swap packets"},
      {.info = {.collective = "all-to-all",
                .variant = "b2b",
                .summary =
                    "all copies of a rank back to back in one queue, one signal; at most `ways` copies per queue",
                .in_place = false,
                .out_of_place = true},
       .plan = plan_all_to_all_b2b,
       .takes_ways = true},
      {.info = {.collective = "all-to-all",
                .variant = "cores-ll",
                .summary = "kernels on compute units, flags beside the data through staging memory; host per rank",
                .in_place = false,
                .out_of_place = true,
                .on_cores = true,
                .both_directions = true},
       .plan = plan_all_to_all_cores<CoreProtocol::ll>},
      {.info = {.collective = "all-to-all",
                .variant = "cores-simple",
                .summary = "kernels on compute units, straight to the output after a handshake; host per rank",
                .in_place = false,
                .out_of_place = true,
                .on_cores = true,
                .both_directions = true},
       .plan = plan_all_to_all_cores<CoreProtocol::simple>},
  };
}

}  // namespace cortado::plan
