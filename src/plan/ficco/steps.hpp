// An exchange cut into steps.
#pragma once

#include <cstdint>
#include <vector>

#include "cortado/machine.hpp"

#include "base/small_vector.hpp"
#include "plan/ficco/exchange.hpp"

namespace cortado::plan {

/// What one rank sends to another in one step.
struct Piece {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  Span given;    ///< rows of `from`
  Span placed;   ///< the same among the rows that `to` receives
  Span columns;  ///< of the matrix that is communicated
  std::uint64_t rows() const { return given.count; }
  bool empty() const { return given.empty() || columns.empty(); }
};

/// Of one sender, mostly for a single receiver.
using Pieces = SmallVector<Piece, 2>;

/// Columns are cut at multiples of this many elements, so that strided copies can count in units of up to 16 bytes.
std::uint64_t panel_unit(std::uint64_t columns, Bytes element);

class Steps {
 public:
  /// `columns` of the matrix that is communicated. The schedule must have its final number of chunks; the exchange must
  /// outlive the steps.
  Steps(const Exchange& exchange, std::uint64_t columns, Bytes element, const FiccoSchedule& schedule);

  std::uint32_t count() const { return count_; }
  /// Whether the own rows are part of every step; otherwise they come before the first one, or after the last.
  bool with_own() const { return with_own_; }

  Piece piece(std::uint32_t step, std::uint32_t from, std::uint32_t to) const;
  /// For the given receivers, in their order, without empty pieces.
  Pieces pieces(std::uint32_t step, std::uint32_t from, const std::vector<RankId>& to) const;
  /// All rows that a rank keeps for itself.
  Piece own(std::uint32_t rank) const;
  /// The pieces of a step that a rank receives or sends, in the order of the other ranks, without empty ones.
  std::vector<Piece> received(std::uint32_t step, std::uint32_t to) const;
  std::vector<Piece> given(std::uint32_t step, std::uint32_t from) const;
  /// Rows of the pieces before this one among those that its receiver gets, or its sender sends.
  std::uint64_t received_before(std::uint32_t step, const Piece& piece) const;
  std::uint64_t given_before(std::uint32_t step, const Piece& piece) const;

 private:
  bool counts(const Piece& piece) const { return !piece.empty() && (with_own_ || piece.from != piece.to); }
  template <class List>
  void add(const Piece& piece, List& all) const {
    if (counts(piece)) all.push_back(piece);
  }

  const Exchange& exchange_;
  FiccoSchedule schedule_;
  std::uint64_t columns_;
  std::uint64_t unit_;
  std::uint32_t count_;
  bool with_own_;
};

}  // namespace cortado::plan
