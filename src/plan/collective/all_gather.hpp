// What the all-gather variants have in common: buffers, blocks and the contract.
//
//   out of place: in<r> holds block r, out<r> receives all blocks
//   in place:     buf<r> holds block r at its place among all blocks
#pragma once

#include <vector>

#include "plan/collective/blocks.hpp"
#include "plan/collective/ring.hpp"
#include "plan/collective/variant.hpp"

namespace cortado::plan {

class AllGather {
 public:
  explicit AllGather(Schedule& schedule);

  /// The block that the rank contributes; empty if there are not enough bytes for one.
  const Region& input(RankId rank) const { return inputs_[rank.value]; }

  /// Where `receiver` gets the block of `sender`.
  Region block(RankId receiver, RankId sender) const { return blocks_.of(outputs_[receiver.value], sender.value); }

  /// All of it, for rings.
  Gathering gathering() const;

  /// Out of place, the rank also needs its own block in its output.
  void copy_own_block(RankId rank);

  Result<Program> finish();

 private:
  Schedule& schedule_;
  Blocks blocks_;
  std::vector<Region> inputs_;
  std::vector<Region> outputs_;
};

}  // namespace cortado::plan
