// What the reduce-scatter variants have in common: buffers and the contract.
//
//   out of place: sum over the blocks r of all in<i> goes to out<r>
//   in place:     sum over the blocks r of all buf<i> replaces block r of buf<r>
#pragma once

#include "plan/collective/reduction.hpp"

namespace cortado::plan {

class ReduceScatter {
 public:
  explicit ReduceScatter(Schedule& schedule);

  const Reduction& reduction() const { return reduction_; }

  Result<Program> finish();

 private:
  Schedule& schedule_;
  Reduction reduction_;
};

}  // namespace cortado::plan
