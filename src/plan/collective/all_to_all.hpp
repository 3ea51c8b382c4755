// What the copying all-to-all variants have in common: buffers, blocks and the contract.
//
// in<i> holds the blocks for ranks 0, 1, ...; out<j> receives the blocks from ranks 0, 1, ... Block j has the same size
// in every in<i>; if the bytes do not divide evenly, ranks with a larger block receive more. Or every block has the
// size that the table of the schedule has.
#pragma once

#include <vector>

#include "plan/collective/blocks.hpp"
#include "plan/collective/variant.hpp"

namespace cortado::plan {

class AllToAll {
 public:
  explicit AllToAll(Schedule& schedule);

  const Region& sent(RankId from, RankId to) const { return send_[from.value][to.value]; }
  const Region& received(RankId from, RankId to) const { return receive_[to.value][from.value]; }
  void copy_own_block(RankId rank);  ///< unless the request leaves it to the caller

  Result<Program> finish();

 private:
  Schedule& schedule_;
  std::vector<std::vector<Region>> send_;     // [from][to]
  std::vector<std::vector<Region>> receive_;  // [to][from]
};

}  // namespace cortado::plan
