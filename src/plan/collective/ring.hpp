// Collectives around a ring: in every step each rank sends one block to its neighbour, next(r) = r + 1 modulo N.
//
// A reduction has N-1 steps. In step s rank r sends block r - s, so that block c starts at rank c + 1, takes up the
// block of every rank that it comes to, and ends at its owner c. On compute units what comes in waits in staging
// memory; a kernel reads it and the own block and writes the sum straight into the staging memory of the neighbour, or,
// at the owner, to where the sum belongs. With memory that adds the sums grow in the buffers themselves: each copy adds
// to the block of the neighbour.
//
// A gathering has N-1 steps as well: first the own block, then what came in in the step before.
#pragma once

#include <optional>
#include <vector>

#include "plan/collective/reduction.hpp"

namespace cortado::plan {

/// What is gathered: the block of every rank, and where every rank gets those of all.
struct Gathering {
  std::vector<Region> own;                  ///< by rank
  std::vector<std::vector<Region>> places;  ///< [rank][owner]; the place of the own block may be the block itself
};

class Ring {
 public:
  /// One kernel a rank, of one part.
  static Ring on_cores(Schedule& schedule);
  /// One queue a rank, on the engine towards its neighbour.
  static Ring on_engines(Schedule& schedule);

  /// On compute units.
  void reduce_by_kernel(const Reduction& reduction);

  /// On engines. Sums grow in the inputs, so the sum of a rank is its block of its input; its other blocks are used up.
  void reduce_by_adding(const Reduction& reduction);

  /// The own place is not written. On compute units each rank ends when it has all blocks; on engines when it has sent
  /// all, and the hosts wait for each other.
  void gather(const Gathering& gathering);

 private:
  Ring(Schedule& schedule, std::vector<Lane> lanes, bool on_cores);

  RankId next(RankId rank) const { return {(rank.value + 1) % count_}; }
  /// The rank `back` places before this one.
  RankId before(RankId rank, std::uint32_t back) const { return {(rank.value + count_ - back % count_) % count_}; }

  /// The rank's block of the owner is on its way to the neighbour, as the last thing in the lane of the rank.
  void hand_on(RankId rank, RankId owner);
  /// The lane of the rank, once the block of the owner that was handed to it is there.
  Lane& after_arrival(RankId rank, RankId owner);

  Schedule& schedule_;
  std::uint32_t count_;
  std::vector<Lane> lanes_;  // by rank
  bool on_cores_;
  std::vector<std::vector<std::optional<SignalId>>> arrivals_;  // [rank][owner], of blocks that nobody waited for yet
};

}  // namespace cortado::plan
