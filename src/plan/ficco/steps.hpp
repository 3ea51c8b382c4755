// An exchange cut into steps.
#pragma once

#include <cstdint>
#include <vector>

#include "cortado/machine/machine.hpp"

#include "plan/ficco/exchange.hpp"

namespace cortado::plan {

/// What one rank gives to another in one step.
struct Piece {
  std::uint32_t from = 0;
  Span given;    ///< rows of `from`
  Span placed;   ///< the same among the rows that the receiver multiplies
  Span columns;  ///< of k
  bool empty() const { return given.empty() || columns.empty(); }
};

/// Columns are cut at multiples of so many elements, so that strided copies can count in units of up to 16 bytes.
std::uint64_t panel_unit(const GemmShape& gemm);

class Steps {
 public:
  /// The schedule has its final number of chunks.
  Steps(const Exchange& exchange, const GemmShape& gemm, const FiccoSchedule& schedule);

  std::uint32_t count() const { return count_; }
  /// The own rows are part of every step; else they come before the first one.
  bool with_own() const { return with_own_; }

  Piece piece(std::uint32_t step, std::uint32_t from, std::uint32_t to) const;
  /// All rows that a rank has for itself.
  Piece own(std::uint32_t rank) const;
  /// Those of a step that are multiplied by `to`, in the order of the senders; empty ones left out.
  std::vector<Piece> pieces(std::uint32_t step, std::uint32_t to) const;

 private:
  const Exchange& exchange_;
  FiccoSchedule schedule_;
  std::uint64_t k_;
  std::uint64_t unit_;
  std::uint32_t count_;
  bool with_own_;
};

}  // namespace cortado::plan
