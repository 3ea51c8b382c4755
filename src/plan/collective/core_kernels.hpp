// Kernels that move data with compute units, as GPU-core libraries (RCCL, NCCL) do: the cores-* variants.
//
// Every rank launches one kernel. It has one part per peer, which sends to that peer and receives from it (or one part
// for each direction, if the library is called for each: Calls), and one more part for what stays on the GPU (the
// rank's own block, sums). There are two protocols:
//
//   ll:      the sender stores its block into a slot of staging memory at the receiver and raises a flag; the receiver
//            unpacks the slot. There is no handshake before, so this costs one flag; but every word of data travels
//            with a flag word, so slots and bytes on the wire are twice the block. A second copy of the block, which
//            nobody reads, stands for the flag words.
//   simple:  the receiver signals that it is ready; the sender stores directly to the destination and signals that the
//            bytes have arrived. Two flags, no extra bytes.
//
// Real libraries keep two sets of slots and alternate. A program is the same in every iteration, so here the barrier
// before an iteration prevents a sender from filling a slot that is still being unpacked; it is not part of the
// reported time. No barrier is needed at the end: the parts of a rank end only when everything that the rank receives
// has arrived.
//
// If two GPUs have no link, a third one with links to both reads the block from one and stores it to the other, in its
// part for the latter. Then a barrier is needed: a rank that has received everything may still be read from.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "plan/collective/reduction.hpp"

namespace cortado::plan {

enum class CoreProtocol { ll, simple };

/// A block that one rank sends to another.
struct Delivery {
  RankId from;
  RankId to;
  Region src;
  Region dst{};                     ///< where `deliver` puts it
  std::optional<SignalId> after{};  ///< the sender waits for it first
};

/// Bytes that are at `at` in the memory of `to` once `flag` is raised.
struct Arrival {
  RankId to;
  Region at;
  SignalId flag;
};

class CoreKernels {
 public:
  /// What the part for the rank itself does, and when.
  enum class OwnPart {
    none,       ///< nothing
    beside,     ///< works while the others do: all parts have the same share of the compute units
    afterwards  ///< works while the others wait: it may use all compute units, the others share them
  };

  /// How the library is called.
  enum class Calls {
    one,  ///< one call for everything, covered by the launch
    /// Grouped sends and receives: two calls per peer, which the host prepares one by one. Each has its own workgroups,
    /// so the compute units for a peer are divided between sending and receiving, if there are at least two.
    per_peer,
  };

  CoreKernels(Schedule& schedule, CoreProtocol protocol, OwnPart own, Calls calls = Calls::one);

  Lane& own_part(RankId rank) { return own_[rank.value]; }

  /// Brings every block to its destination; empty blocks produce no command. Later commands in the receiver's part for
  /// that sender may use the block.
  void deliver(const std::vector<Delivery>& blocks);

  /// Brings every block to memory of the receiver named after `kind`; destinations are ignored. Nothing waits for them
  /// yet.
  std::vector<Arrival> stage(const std::vector<Delivery>& blocks, std::string_view kind);

  /// Stages all blocks at their owners, whose own parts add them up.
  void reduce(const Reduction& reduction);

 private:
  /// The parts of a rank for one peer: both are the same part if sending and receiving share it.
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
  Lane& sender_of(const Delivery& block);  ///< after waiting for what the block depends on

  Schedule& schedule_;
  CoreProtocol protocol_;
  std::vector<std::vector<RankId>> movers_;         // [from][to]
  std::vector<std::vector<std::uint32_t>> blocks_;  // [rank][to]: that the rank stores there, for itself and others
  std::vector<std::vector<PeerParts>> parts_;       // [rank][peers in ascending order]
  std::vector<Lane> own_;
};

}  // namespace cortado::plan
