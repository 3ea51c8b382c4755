// The callers' work on real bytes: writes inputs, poisons everything else, and compares every output byte with the
// contract. Outputs of a formula may differ from its straightforward evaluation (formula_values.hpp) by
// kFormulaTolerance times the largest number of the output, because of rounding to f32 after every step and sums in
// another order. A token number may be any whose logit is within that tolerance of the best.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "cortado/program.hpp"
#include "cortado/result.hpp"
#include "cortado/target.hpp"

#include "device/executor/formula_values.hpp"
#include "device/executor/pattern.hpp"

namespace cortado::device {

inline constexpr double kFormulaTolerance = 1e-4;

/// What the comparison has found so far.
struct CheckTotals {
  std::uint64_t checked_bytes = 0;
  std::uint64_t wrong_bytes = 0;
  std::optional<Diagnostic> first_wrong;
};

class ContractCheck {
 public:
  /// `memory` by BufferId. The program must outlive this.
  static Result<ContractCheck> make(const Program& program, std::vector<std::byte*> memory);

  /// For the following run; without functions, the pattern is used. Rejects contracts that have more than a formula
  /// (device.data). What `data` points to must outlive the run.
  Status use(const CallerData& data);
  /// The rank's caller shows the outputs to whoever supplied the data.
  void show_outputs(RankId rank) const;

  /// Before a run: output bytes become the complement of what `iteration` should produce (outputs of GEMMs become
  /// something that no GEMM can produce), so that a byte nobody writes is always found; other bytes of outputs and
  /// scratch buffers become 0xee; inputs that the contract does not name get a pattern.
  void poison(std::uint64_t seed, std::uint64_t iteration) const;

  /// The rank's caller writes its inputs.
  void fill_inputs(RankId rank, std::uint64_t seed, std::uint64_t iteration) const;

  /// The rank's caller reads its outputs. `iteration` selects the pattern; `run_iteration` appears in the message.
  void check_outputs(RankId rank, std::uint64_t seed, std::uint64_t iteration, std::uint64_t run_iteration,
                     CheckTotals& totals) const;

 private:
  struct RankRegions {
    std::vector<Region> inputs;
    std::vector<std::uint32_t> clauses;   // whose output belongs to the rank
    std::vector<std::uint32_t> products;  // likewise
    std::vector<std::uint32_t> outputs;   // of the formula, likewise
  };

  ContractCheck(const Program& program, std::vector<std::byte*> memory, std::vector<ElementFormat> formats);
  void check_product(RankId rank, const ProductClause& clause, std::uint64_t seed, std::uint64_t iteration,
                     std::uint64_t run_iteration, CheckTotals& totals) const;
  void check_formula(RankId rank, const FormulaClause& clause, std::uint64_t seed, std::uint64_t iteration,
                     std::uint64_t run_iteration, CheckTotals& totals) const;
  const FormulaValues& values(std::uint64_t seed, std::uint64_t iteration) const;
  void fill(const std::vector<Region>& regions, std::uint64_t seed, std::uint64_t iteration) const;

  const Program* program_;
  std::vector<std::byte*> memory_;
  std::vector<ElementFormat> formats_;
  std::vector<RankRegions> ranks_;
  std::uint64_t roundings_;  // upper bound, per element of a GEMM
  const CallerData* data_ = nullptr;
  /// For the most recent seed and iteration.
  mutable std::optional<FormulaValues> values_;
  mutable std::pair<std::uint64_t, std::uint64_t> values_of_;
};

}  // namespace cortado::device
