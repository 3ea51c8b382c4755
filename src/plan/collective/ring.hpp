// Collectives around a ring: in every step each rank sends one block to its neighbour, the next rank in the ring.
//
// A reduction has N-1 steps. In step s, the rank at position p sends the block of the rank s positions before it, so
// that the block of c starts at the rank after c, accumulates the block of every rank that it passes, and ends at its
// owner c. On compute units, incoming blocks wait in staging memory; a kernel reads them and the rank's own block and
// writes the sum directly into the staging memory of the neighbour or, at the owner, to its final place. With memory
// that adds, the sums grow in the buffers themselves: each copy adds to the block of the neighbour.
//
// A gathering also has N-1 steps: first the rank's own block, then what arrived in the previous step.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/collective/reduction.hpp"

namespace cortado::plan {

/// What is gathered: the block of every rank, and where every rank receives all of them.
struct Gathering {
  std::vector<Region> own;                  ///< by rank
  std::vector<std::vector<Region>> places;  ///< [rank][owner]; the place of the own block may be the block itself
};

/// What is added up: the blocks that every rank has for every owner, and where the owners receive their sums.
struct Terms {
  std::vector<std::vector<Region>> blocks;  ///< [rank][owner]
  std::vector<Region> sums;                 ///< by owner

  Bytes size(RankId owner) const { return sums[owner.value].bytes(); }
  const Region& block(RankId rank, RankId owner) const { return blocks[rank.value][owner.value]; }
};
Terms terms_of(const Reduction& reduction);

/// The first `ranks` GPUs in an order in which each has a link to the next and the last to the first: ascending order
/// if that works. Empty: there is none.
std::vector<RankId> ring_order(std::uint32_t ranks, const Machine& machine);

class Ring {
 public:
  /// One kernel per rank, with one part.
  static Ring on_cores(Schedule& schedule);
  /// One queue per rank, on the engine towards its neighbour.
  static Ring on_engines(Schedule& schedule);

  /// A ring of a library, which may have several: a part of the kernel of every rank.
  struct Channel {
    std::vector<RankId> order;  ///< the ring
    std::string name;           ///< of the part and of its staging memory
    std::uint32_t units = 1;
    Protocol protocol = Protocol::simple;
    bool staged = false;  ///< the last block goes through staging memory
  };
  static Ring of_library(Schedule& schedule, const Channel& channel);

  /// On compute units.
  void reduce_by_kernel(const Terms& terms);

  /// On compute units: a reduction and a gathering of the sums. The owner's sum goes to its neighbour at once.
  void all_reduce_by_kernel(const Terms& terms, const Gathering& sums);

  /// On engines. Sums grow in the inputs, so the sum of a rank is its block of its input; its other blocks are
  /// overwritten.
  void reduce_by_adding(const Terms& terms);

  /// The place of the own block is not written. On compute units, each rank ends when it has all blocks; on engines,
  /// when it has sent all, and the hosts wait for each other.
  void gather(const Gathering& gathering) { gather_from(1, gathering); }

 private:
  struct Traits {
    bool on_cores = false;
    bool staged = false;
    std::string name{};
  };
  Ring(Schedule& schedule, std::vector<RankId> order, std::vector<Lane> lanes, Traits traits);

  RankId next(RankId rank) const { return order_[(place_[rank.value] + 1) % count_]; }
  /// The rank `back` positions before this one.
  RankId before(RankId rank, std::uint32_t back) const {
    return order_[(place_[rank.value] + count_ - back % count_) % count_];
  }

  /// Where every rank keeps incoming blocks: [rank][owner].
  std::vector<std::vector<Region>> stage(const Terms& terms);
  /// All steps except the last, at the owner.
  void pass_sums(const Terms& terms, const std::vector<std::vector<Region>>& staged);
  void gather_from(std::uint32_t first_step, const Gathering& gathering);
  /// The destination of the owner's block at the neighbour of the rank.
  Region target(RankId rank, RankId owner, const Gathering& gathering);
  /// Every rank waits for its last block, and unpacks it if it was staged.
  void finish_gathering(const Gathering& gathering);

  /// Announces the rank's copy of the owner's block to the neighbour, after everything in the lane of the rank so far.
  void hand_on(RankId rank, RankId owner);
  /// The lane of the rank, after the owner's block that was sent to it has arrived.
  Lane& after_arrival(RankId rank, RankId owner);

  Schedule& schedule_;
  std::uint32_t count_;
  std::vector<RankId> order_;
  std::vector<std::uint32_t> place_;  // by rank
  std::vector<Lane> lanes_;           // by rank
  Traits traits_;
  std::vector<std::vector<std::optional<SignalId>>> arrivals_;  // [rank][owner], of blocks not waited for yet
  std::vector<std::optional<Region>> last_;                     // by rank: staging memory of its last block
};

}  // namespace cortado::plan
