// The reducing part of reduce-scatter and all-reduce.
//
// The buffer is divided into one block per rank. The owner of block r ends up with the sum over all ranks of their
// blocks r, either by moving the blocks to the owner and adding them there with a kernel, or by copies that add at the
// destination.
#pragma once

#include <vector>

#include "plan/collective/blocks.hpp"
#include "plan/collective/variant.hpp"

namespace cortado::plan {

/// What is reduced and where the sums go.
struct Reduction {
  Blocks blocks;
  std::vector<Region> inputs;  ///< by rank: all blocks
  std::vector<Region> sums;    ///< by rank: where the sum of its block goes; in place, this is its block of its input

  Region input_block(RankId rank, RankId owner) const { return blocks.of(inputs[rank.value], owner.value); }
};

/// The lanes from every rank to every other, on the machine's preferred engines.
class LaneGrid {
 public:
  explicit LaneGrid(Schedule& schedule);
  Lane& towards(RankId rank, RankId peer);

 private:
  std::vector<std::vector<Lane>> lanes_;  // [rank][peers in ascending order]
};

/// A piece of a sum that is complete once `ready` is raised.
struct ReducedPiece {
  RankId owner;
  Bytes offset;  ///< in the owner's block
  Bytes bytes;
  SignalId ready;
};

/// Every rank pushes block r to a scratch buffer of rank r, for all r; there a kernel adds all blocks.
std::vector<ReducedPiece> reduce_by_kernel(Schedule& schedule, LaneGrid& lanes, const Reduction& reduction);

/// Every rank adds its block r to the sum of rank r, for all r, with copies that add. Two such copies must not update
/// the same bytes at the same time, so the sum is cut into C pieces, and each piece goes through a chain of N-1 adds,
/// one rank after another; the chains of different pieces start at different ranks, so that up to C links into a rank
/// are busy at once. At step s = 1, 2, ... rank r - 1 - ((s - 1 + c(N-1)/C) mod (N-1)) adds to piece c of rank r. C is
/// the number of 64 KiB units in the block, at least 1, at most min(N-1, 16). Out of place, the sum is first set to the
/// owner's own block, in every iteration.
std::vector<ReducedPiece> reduce_by_adding(Schedule& schedule, LaneGrid& lanes, const Reduction& reduction);

/// Either of the two.
using Reducer = std::vector<ReducedPiece> (*)(Schedule& schedule, LaneGrid& lanes, const Reduction& reduction);

}  // namespace cortado::plan
