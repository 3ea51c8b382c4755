#include "plan/collective/reduction.hpp"

#include <algorithm>
#include <optional>

namespace cortado::plan {
namespace {

// A step of a chain costs a few microseconds of signalling, in which a link of 50 GB/s moves some 10^5 bytes: cutting
// finer than this would add commands and gain nothing.
constexpr Bytes kPieceUnit = 64_KiB;
constexpr std::uint64_t kMostPieces = 16;

/// The pieces of a block that are reduced in separate chains.
Blocks pieces_of(Bytes block, std::uint32_t ranks, Bytes element) {
  const std::uint64_t most = std::min<std::uint64_t>(ranks - 1, kMostPieces);
  const std::uint64_t count = std::clamp<std::uint64_t>(block.value / kPieceUnit.value, 1, most);
  return {block, static_cast<std::uint32_t>(count), element};
}

/// The rank that adds to piece c (of C) of the owner's sum at a step; steps count from 1.
RankId adder(RankId owner, std::uint32_t step, std::uint32_t piece, std::uint32_t pieces, std::uint32_t ranks) {
  const std::uint32_t others = ranks - 1;
  const std::uint32_t turn = (step - 1 + piece * others / pieces) % others;
  return {(owner.value + ranks - 1 - turn) % ranks};
}

}  // namespace

LaneGrid::LaneGrid(Schedule& schedule) {
  for (const RankId rank : schedule.ranks()) {
    auto& of_rank = lanes_.emplace_back();
    for (const RankId peer : schedule.peers_ascending(rank)) of_rank.push_back(schedule.lane_towards(rank, peer));
  }
}

Lane& LaneGrid::towards(RankId rank, RankId peer) {
  return lanes_[rank.value][peer.value < rank.value ? peer.value : peer.value - 1];
}

std::vector<ReducedPiece> reduce_by_kernel(Schedule& schedule, LaneGrid& lanes, const Reduction& reduction) {
  std::vector<std::vector<Region>> sources(schedule.rank_count());     // by owner
  std::vector<std::vector<SignalId>> arrivals(schedule.rank_count());  // by owner
  std::vector<Region> scratch;
  for (const RankId owner : schedule.ranks()) {
    const Bytes block = reduction.blocks.size(owner.value);
    scratch.push_back(schedule.buffer("scratch", owner, block * (schedule.rank_count() - 1), BufferRole::scratch));
    if (block.value > 0) sources[owner.value].push_back(reduction.input_block(owner, owner));
  }
  for (const RankId rank : schedule.ranks()) {
    for (const RankId owner : schedule.peers_after(rank)) {
      const Bytes block = reduction.blocks.size(owner.value);
      if (block.value == 0) continue;
      auto& of_owner = sources[owner.value];
      of_owner.push_back(slice(scratch[owner.value], block * (of_owner.size() - 1), block));
      Lane& lane = lanes.towards(rank, owner);
      lane.copy(reduction.input_block(rank, owner), of_owner.back());
      arrivals[owner.value].push_back(lane.raise());
    }
  }
  std::vector<ReducedPiece> pieces;
  for (const RankId owner : schedule.ranks()) {
    if (sources[owner.value].empty()) continue;
    Lane compute = schedule.compute_lane(owner);
    for (const SignalId arrival : arrivals[owner.value]) compute.wait(arrival);
    compute.reduce(sources[owner.value], reduction.sums[owner.value], schedule.request().dtype);
    pieces.push_back({owner, {}, reduction.blocks.size(owner.value), compute.raise()});
  }
  return pieces;
}

std::vector<ReducedPiece> reduce_by_adding(Schedule& schedule, LaneGrid& lanes, const Reduction& reduction) {
  const std::uint32_t ranks = schedule.rank_count();
  const DType dtype = schedule.request().dtype;
  // An engine reads what it adds to: where memory cannot add, the owner's engines fetch what they add to its sums.
  const bool pull = !schedule.machine().features.near_memory_compute;
  std::vector<Blocks> cuts;
  std::vector<std::vector<std::optional<SignalId>>> complete;  // [owner][piece]: the step before
  for (const RankId owner : schedule.ranks()) {
    cuts.push_back(pieces_of(reduction.blocks.size(owner.value), ranks, size_of(dtype)));
    const Region own = reduction.input_block(owner, owner);
    std::optional<SignalId> initialised;
    if (own.bytes().value > 0 && own != reduction.sums[owner.value]) {
      Lane& lane = lanes.towards(owner, {(owner.value + 1) % ranks});
      lane.copy(own, reduction.sums[owner.value]);
      initialised = lane.raise();
    }
    complete.emplace_back(cuts.back().parts(), initialised);
  }
  for (std::uint32_t step = 1; step < ranks; ++step) {
    for (const RankId owner : schedule.ranks()) {
      const Blocks& cut = cuts[owner.value];
      for (std::uint32_t piece = 0; piece < cut.parts(); ++piece) {
        if (cut.size(piece).value == 0) continue;
        const RankId rank = adder(owner, step, piece, cut.parts(), ranks);
        Lane& lane = pull ? lanes.towards(owner, rank) : lanes.towards(rank, owner);
        std::optional<SignalId>& before = complete[owner.value][piece];
        if (before) lane.wait(*before);
        lane.add(cut.of(reduction.input_block(rank, owner), piece), cut.of(reduction.sums[owner.value], piece), dtype);
        before = lane.raise();
      }
    }
  }
  std::vector<ReducedPiece> pieces;
  for (const RankId owner : schedule.ranks()) {
    const Blocks& cut = cuts[owner.value];
    for (std::uint32_t piece = 0; piece < cut.parts(); ++piece) {
      if (cut.size(piece).value == 0) continue;
      pieces.push_back({owner, cut.offset(piece), cut.size(piece), *complete[owner.value][piece]});
    }
  }
  return pieces;
}

}  // namespace cortado::plan
