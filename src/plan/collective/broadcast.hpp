// What the broadcast variants have in common: buffers and the contract.
//
//   out of place: in<root> is copied to every out<r>, including the root's own
//   in place:     buf<root> is copied to every other buf<r>
#pragma once

#include <vector>

#include "plan/collective/variant.hpp"

namespace cortado::plan {

class BroadcastToAll {
 public:
  explicit BroadcastToAll(Schedule& schedule);

  RankId root() const { return schedule_.request().root; }
  const Region& input() const { return input_; }
  const Region& output(RankId rank) const { return outputs_[rank.value]; }

  /// Fills the root's own output if that is a separate buffer, and completes the program.
  Result<Program> finish();

 private:
  Schedule& schedule_;
  Region input_;
  std::vector<Region> outputs_;
};

}  // namespace cortado::plan
