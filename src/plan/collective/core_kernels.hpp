// Kernels that move data with compute units, as GPU-core libraries (RCCL, NCCL) do: the cores-* variants.
//
// Every rank launches one kernel. A part for each peer sends to that peer and receives from it (or a part each, where
// the library is called for each: Calls); one more part does what stays on the GPU (the own block, sums). There are two
// protocols:
//
//   ll:      the sender stores its block into a slot of staging memory at the receiver and raises a flag; the receiver
//            unpacks the slot. Nobody asks before, so this costs one flag; but every word of data travels with a flag
//            word, so slots and bytes on the wire are twice the block. A second copy of the block stands for the flag
//            words: nobody reads it.
//   simple:  the receiver says that it is ready, the sender stores straight to the destination and says that the bytes
//            have arrived. Two flags, no byte too many.
//
// Real libraries keep two sets of slots and alternate. A program is the same in every iteration, so here the barrier
// before an iteration keeps a sender from filling a slot that is still being unpacked; it is not part of the reported
// time. No barrier is needed at the end: the parts of a rank end only when all that the rank receives is there.
//
// Where two GPUs have no link, a third one that has links to both reads the block from the one and stores it to the
// other, in its part for the latter. Then a barrier is needed: a rank that has all may still be read from.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "plan/collective/reduction.hpp"

namespace cortado::plan {

enum class CoreProtocol { ll, simple };

/// A block that one rank gives to another.
struct Delivery {
  RankId from;
  RankId to;
  Region src;
  Region dst{};                     ///< where `deliver` brings it
  std::optional<SignalId> after{};  ///< the sender waits for it first
};

/// Bytes that lie at `at` in the memory of `to` once `flag` is raised.
struct Arrival {
  RankId to;
  Region at;
  SignalId flag;
};

class CoreKernels {
 public:
  /// What the own part of a rank does, and when.
  enum class OwnPart {
    none,       ///< nothing
    beside,     ///< works while the others do: all parts have the same share of the compute units
    afterwards  ///< works while the others wait: it may use all compute units, the others share them
  };

  /// How the caller of the library asks for it.
  enum class Calls {
    one,  ///< one call for all: the launch covers it
    /// Grouped sends and receives: two calls for each peer, which the host prepares one by one. Each has workgroups of
    /// its own, so the compute units for a peer are divided between sending and receiving, as far as there are two.
    per_peer,
  };

  CoreKernels(Schedule& schedule, CoreProtocol protocol, OwnPart own, Calls calls = Calls::one);

  Lane& own_part(RankId rank) { return own_[rank.value]; }

  /// Brings every block to its destination; empty blocks make no command. What stands later in the part of the
  /// receiver that receives from the sender may use it.
  void deliver(const std::vector<Delivery>& blocks);

  /// Brings every block to memory of the receiver named after `kind`; destinations are not looked at. Nobody waits yet.
  std::vector<Arrival> stage(const std::vector<Delivery>& blocks, std::string_view kind);

  /// Stages all blocks at their owners, whose own parts add them up.
  void reduce(const Reduction& reduction);

 private:
  /// The parts of a rank for one peer: two names of one part where sending and receiving share it.
  struct PeerParts {
    Lane send;
    Lane receive;
  };

  void route();
  std::uint32_t units_for(RankId rank, RankId peer, std::uint32_t index, std::uint32_t sharing) const;
  RankId mover_of(const Delivery& block) const { return movers_[block.from.value][block.to.value]; }
  PeerParts add_parts(RankId rank, RankId peer, std::uint32_t units, Calls calls);
  PeerParts& parts(RankId rank, RankId peer);
  Lane& receiver_of(const Delivery& block) { return parts(block.to, block.from).receive; }
  std::vector<SignalId> raise_ready(const std::vector<Delivery>& blocks);
  Lane& sender_of(const Delivery& block);  ///< after waiting for what the block comes after

  Schedule& schedule_;
  CoreProtocol protocol_;
  std::vector<std::vector<RankId>> movers_;         // [from][to]
  std::vector<std::vector<std::uint32_t>> blocks_;  // [rank][to]: that the rank stores there, for itself and others
  std::vector<std::vector<PeerParts>> parts_;       // [rank][peers in ascending order]
  std::vector<Lane> own_;
};

}  // namespace cortado::plan
