// What the scatter variants have in common: buffers, blocks and the contract.
//
//   out of place: block r of in<root> goes to out<r>, including the root's own
//   in place:     the root keeps its block where it is, in buf<root>
#pragma once

#include <vector>

#include "plan/collective/variant.hpp"

namespace cortado::plan {

class Scatter {
 public:
  explicit Scatter(Schedule& schedule);

  RankId root() const { return schedule_.request().root; }
  const Region& block(RankId rank) const { return blocks_[rank.value]; }
  const Region& output(RankId rank) const { return outputs_[rank.value]; }

  /// Fills the root's own output if that is a separate buffer, and completes the program.
  Result<Program> finish();

 private:
  Schedule& schedule_;
  std::vector<Region> blocks_;   // of the root's buffer
  std::vector<Region> outputs_;  // by rank
};

}  // namespace cortado::plan
