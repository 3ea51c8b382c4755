// The GEMMs of a layer and the collectives that they need or that need them, as stages of a chain.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cortado/result.hpp"

#include "plan/layer.hpp"
#include "plan/layer/chain.hpp"

namespace cortado::plan {

/// What one rank multiplies, in f32; m counts the rows of all ranks.
struct PairShape {
  std::uint64_t m = 0;
  std::uint64_t n = 0;
  std::uint64_t k = 0;
};

/// Matrices of a rank.
struct PairRank {
  Region a;  ///< its own rows before an all-gather, all rows before a reduce-scatter
  Region b;
  Region c;  ///< all rows after an all-gather, its own rows after a reduce-scatter
};

class Pairs {
 public:
  /// All must outlive this. An empty planner: serial.
  Pairs(Chain& chain, const Machine& machine, const PairPlanner& planner)
      : chain_(chain), machine_(machine), planner_(planner) {}

  /// `write(rank, a)` adds the kernels that write A. The program of the pair comes after them.
  using Write = std::function<void(std::uint32_t rank, const Region& a)>;
  Result<std::vector<PairRank>> gather_and_multiply(const std::string& name, const PairShape& shape,
                                                    const Write& write);
  Result<std::vector<PairRank>> multiply_and_reduce(const std::string& name, const PairShape& shape,
                                                    const Write& write);
  /// Every rank receives what all have, one block after another; `write(rank, block)`.
  Result<std::vector<Region>> gather(const std::string& name, std::uint64_t block_rows, std::uint64_t columns,
                                     const Write& write);

 private:
  Result<std::vector<PairRank>> alone(const std::string& name, const PairShape& shape, const Write& write);
  Result<Program> plan(Relation relation, Collective collective, const PairShape& shape) const;
  Result<Program> plan_collective(Collective collective, Bytes bytes) const;

  Chain& chain_;
  const Machine& machine_;
  const PairPlanner& planner_;
};

}  // namespace cortado::plan
