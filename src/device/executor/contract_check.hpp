// The callers' work on real bytes: writes inputs, poisons everything else, and compares every output byte with the
// contract.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "cortado/program.hpp"
#include "cortado/result.hpp"

#include "device/executor/pattern.hpp"

namespace cortado::device {

/// What the comparison found so far.
struct CheckTotals {
  std::uint64_t checked_bytes = 0;
  std::uint64_t wrong_bytes = 0;
  std::optional<Diagnostic> first_wrong;
};

class ContractCheck {
 public:
  /// `memory` by BufferId. The program outlives this.
  static Result<ContractCheck> make(const Program& program, std::vector<std::byte*> memory);

  /// Before a run: output bytes become the complement of what `iteration` should make of them, or of products what no
  /// product can be, so that a byte nobody writes is always found; other bytes of outputs and scratch become 0xee;
  /// inputs that the contract does not name get a pattern.
  void poison(std::uint64_t seed, std::uint64_t iteration) const;

  /// The rank's caller writes its inputs.
  void fill_inputs(RankId rank, std::uint64_t seed, std::uint64_t iteration) const;

  /// The rank's caller reads its outputs. `iteration` is the pattern's; `run_iteration` is named in the message.
  void check_outputs(RankId rank, std::uint64_t seed, std::uint64_t iteration, std::uint64_t run_iteration,
                     CheckTotals& totals) const;

 private:
  struct RankRegions {
    std::vector<Region> inputs;
    std::vector<std::uint32_t> clauses;   // whose output is the rank's
    std::vector<std::uint32_t> products;  // the same
  };

  ContractCheck(const Program& program, std::vector<std::byte*> memory, std::vector<ElementFormat> formats);
  void check_product(RankId rank, const ProductClause& clause, std::uint64_t seed, std::uint64_t iteration,
                     std::uint64_t run_iteration, CheckTotals& totals) const;
  void fill(const std::vector<Region>& regions, std::uint64_t seed, std::uint64_t iteration) const;

  const Program* program_;
  std::vector<std::byte*> memory_;
  std::vector<ElementFormat> formats_;
  std::vector<RankRegions> ranks_;
  std::uint64_t roundings_;  // of an element of a product, at most
};

}  // namespace cortado::device
