// What the all-reduce variants have in common: buffers and the contract; a reduction, then an all-gather of the sums in
// the same program and queues.
//
//   out of place: sum over in<r> goes to every out<r>
//   in place:     sum over buf<r> replaces every buf<r>
#pragma once

#include "plan/collective/reduction.hpp"
#include "plan/collective/ring.hpp"

namespace cortado::plan {

class AllReduce {
 public:
  explicit AllReduce(Schedule& schedule);

  const Reduction& reduction() const { return reduction_; }

  /// Where the rank has bytes of the owner's block of sums; `offset` counts from the start of the block.
  Region sum(RankId rank, RankId owner, Bytes offset, Bytes bytes) const {
    return slice(outputs_[rank.value], reduction_.blocks.offset(owner.value) + offset, bytes);
  }

  /// The sums and where every rank receives them.
  Gathering gathering() const;

  Result<Program> finish();

 private:
  Schedule& schedule_;
  Reduction reduction_;
  std::vector<Region> outputs_;
};

}  // namespace cortado::plan
