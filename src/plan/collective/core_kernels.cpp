#include "plan/collective/core_kernels.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cortado/program.hpp"

namespace cortado::plan {
namespace {

/// As even as possible, at least one each.
std::uint32_t share(std::uint32_t units, std::uint32_t parts, std::uint32_t index) {
  return std::max(1U, units / parts + (index < units % parts ? 1 : 0));
}

std::vector<Delivery> without_empty(const std::vector<Delivery>& blocks) {
  std::vector<Delivery> full = blocks;
  std::erase_if(full, [](const Delivery& block) { return block.src.bytes().value == 0; });
  return full;
}

}  // namespace

CoreKernels::CoreKernels(Schedule& schedule, CoreProtocol protocol, OwnPart own, Calls calls)
    : schedule_(schedule), protocol_(protocol) {
  if (schedule.all_linked()) schedule.omit_exit_barrier();
  route();
  const std::uint32_t units = schedule.compute_units();
  const std::uint32_t peers = schedule.rank_count() - 1;
  const std::uint32_t sharing = own == OwnPart::beside ? peers + 1 : peers;
  for (const RankId rank : schedule.ranks()) {
    auto& of_rank = parts_.emplace_back();
    for (const RankId peer : schedule.peers_ascending(rank)) {
      const auto index = static_cast<std::uint32_t>(of_rank.size());
      of_rank.push_back(add_parts(rank, peer, units_for(rank, peer, index, sharing), calls));
    }
    own_.push_back(schedule.kernel_part(rank, "own", own == OwnPart::beside ? share(units, sharing, peers) : units));
    schedule.set_local_lane(rank, own_.back());
  }
}

void CoreKernels::route() {
  const std::uint32_t ranks = schedule_.rank_count();
  movers_.resize(ranks, std::vector<RankId>(ranks));
  blocks_.resize(ranks, std::vector<std::uint32_t>(ranks));
  for (const RankId from : schedule_.ranks()) {
    for (const RankId to : schedule_.peers_after(from)) {
      const RankId by = schedule_.mover_towards(from, to);
      movers_[from.value][to.value] = by;
      ++blocks_[by.value][to.value];
    }
  }
}

/// Equal shares among linked GPUs. Elsewhere by what a part stores; one that only receives has a unit.
std::uint32_t CoreKernels::units_for(RankId rank, RankId peer, std::uint32_t index, std::uint32_t sharing) const {
  const std::uint32_t units = schedule_.compute_units();
  if (schedule_.all_linked()) return share(units, sharing, index);
  const std::vector<std::uint32_t>& blocks = blocks_[rank.value];
  std::uint32_t all = sharing - static_cast<std::uint32_t>(blocks.size() - 1);  // the own part, if it works beside
  std::uint32_t receiving = 0;
  for (const RankId other : schedule_.peers_ascending(rank)) {
    all += blocks[other.value];
    receiving += blocks[other.value] == 0 ? 1U : 0U;
  }
  return std::max(1U, (units - std::min(units, receiving)) * blocks[peer.value] / std::max(1U, all));
}

CoreKernels::PeerParts CoreKernels::add_parts(RankId rank, RankId peer, std::uint32_t units, Calls calls) {
  const auto part = [&](const char* what, std::uint32_t given, std::uint32_t of_calls) {
    return schedule_.kernel_part(rank, fmt::format("{}{}", peer.value, what), given, of_calls);
  };
  if (calls == Calls::one) {
    const Lane both = part("", units, 0);
    return {both, both};
  }
  if (units < 2) {
    const Lane both = part("", units, 2);
    return {both, both};
  }
  // Both calls are made before either part starts: they are counted for the one that the protocol submits first.
  const bool sends_first = protocol_ == CoreProtocol::ll;
  return {part(".send", units - units / 2, sends_first ? 2 : 0), part(".receive", units / 2, sends_first ? 0 : 2)};
}

CoreKernels::PeerParts& CoreKernels::parts(RankId rank, RankId peer) {
  return parts_[rank.value][peer.value < rank.value ? peer.value : peer.value - 1];
}

void CoreKernels::deliver(const std::vector<Delivery>& blocks) {
  const std::vector<Delivery> full = without_empty(blocks);
  if (protocol_ == CoreProtocol::ll) {
    const std::vector<Arrival> arrivals = stage(full, "staging");
    for (std::size_t i = 0; i < full.size(); ++i) {
      Lane& receiver = receiver_of(full[i]);
      receiver.wait(arrivals[i].flag);
      receiver.copy(arrivals[i].at, full[i].dst);
    }
    return;
  }
  const std::vector<SignalId> ready = raise_ready(full);
  std::vector<SignalId> arrived;
  for (std::size_t i = 0; i < full.size(); ++i) {
    Lane& sender = sender_of(full[i]);
    sender.wait(ready[i]);
    sender.copy(full[i].src, full[i].dst);
    arrived.push_back(sender.raise(full[i].to));
  }
  for (std::size_t i = 0; i < full.size(); ++i) receiver_of(full[i]).wait(arrived[i]);
}

std::vector<Arrival> CoreKernels::stage(const std::vector<Delivery>& blocks, std::string_view kind) {
  const std::vector<Delivery> full = without_empty(blocks);
  const bool flags = protocol_ == CoreProtocol::ll;
  std::vector<Bytes> sizes(schedule_.rank_count());
  for (const Delivery& block : full) sizes[block.to.value] += block.src.bytes() * (flags ? 2 : 1);
  std::vector<Region> buffers;
  for (const RankId rank : schedule_.ranks()) {
    buffers.push_back(schedule_.buffer(kind, rank, sizes[rank.value], BufferRole::scratch));
  }
  const std::vector<SignalId> ready = flags ? std::vector<SignalId>{} : raise_ready(full);
  std::vector<Bytes> used(schedule_.rank_count());
  std::vector<Arrival> arrivals;
  for (std::size_t i = 0; i < full.size(); ++i) {
    const Delivery& block = full[i];
    const Bytes bytes = block.src.bytes();
    Bytes& offset = used[block.to.value];
    const auto take = [&] {
      const Region slot = slice(buffers[block.to.value], offset, bytes);
      offset += bytes;
      return slot;
    };
    Lane& sender = sender_of(block);
    if (!flags) sender.wait(ready[i]);
    const Region at = take();
    sender.copy(block.src, at);
    if (flags) sender.copy(block.src, take());
    arrivals.push_back({block.to, at, sender.raise(block.to)});
  }
  return arrivals;
}

void CoreKernels::reduce(const Reduction& reduction) {
  std::vector<Delivery> blocks;
  std::vector<std::vector<Region>> sources(schedule_.rank_count());  // by owner
  for (const RankId rank : schedule_.ranks()) {
    sources[rank.value].push_back(reduction.input_block(rank, rank));
    for (const RankId owner : schedule_.peers_after(rank)) {
      blocks.push_back({.from = rank, .to = owner, .src = reduction.input_block(rank, owner)});
    }
  }
  for (const Arrival& arrival : stage(blocks, "scratch")) {
    own_part(arrival.to).wait(arrival.flag);
    sources[arrival.to.value].push_back(arrival.at);
  }
  for (const RankId owner : schedule_.ranks()) {
    if (reduction.blocks.size(owner.value).value == 0) continue;
    own_part(owner).reduce(sources[owner.value], reduction.sums[owner.value], schedule_.request().dtype);
  }
}

Lane& CoreKernels::sender_of(const Delivery& block) {
  Lane& sender = parts(mover_of(block), block.to).send;
  if (block.after) sender.wait(*block.after);
  return sender;
}

std::vector<SignalId> CoreKernels::raise_ready(const std::vector<Delivery>& blocks) {
  std::vector<SignalId> ready;
  for (const Delivery& block : blocks) ready.push_back(receiver_of(block).raise(mover_of(block)));
  return ready;
}

}  // namespace cortado::plan
