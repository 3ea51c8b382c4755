// Symbolic contents of bytes: which input bytes of which iteration, or a sum of such.
//
// A value describes all bytes of a set of runs (runs.hpp). It states the first byte of the first run; byte d of run k
// holds every term advanced by k * step + d. So a block of any size that was copied as a whole is one value.
#pragma once

#include <compare>
#include <cstdint>

#include "cortado/program.hpp"

#include "base/small_vector.hpp"

namespace cortado::verifier {

/// Input bytes as the caller wrote them in an iteration; or, if the source number is beyond those of the buffers, a
/// GEMM of such bytes or an unnamed result (results.hpp).
struct Term {
  std::uint32_t source = 0;  ///< BufferId, or number of buffers + number of the result
  std::uint32_t iteration = 0;
  std::uint64_t offset = 0;
  std::uint64_t step = 0;  ///< from run to run
  friend auto operator<=>(const Term&, const Term&) = default;
};

using Terms = SmallVector<Term, 1>;

struct Value {
  Terms terms{};                 ///< sorted; more than one: their sum; none: never written
  DType dtype = DType::u8;       ///< of a sum
  std::uint32_t mark = 0;        ///< of parts of elements: the result they were taken from (symbolic_copy.cpp)
  std::uint64_t phase = 0;       ///< of a sum: position of the first byte within its element
  std::uint64_t phase_step = 0;  ///< from run to run

  bool is_defined() const { return !terms.empty(); }
  bool is_sum() const { return terms.size() > 1; }

  /// Becomes the value as seen a number of runs later.
  void advance(std::uint64_t runs);
  Value advanced_by(std::uint64_t runs) const {
    Value value = *this;
    value.advance(runs);
    return value;
  }
  /// Becomes the value as seen a number of bytes later in each run.
  void move(std::uint64_t bytes) {
    for (Term& term : terms) term.offset += bytes;
    if (is_sum()) phase = (phase + bytes) % size_of(dtype).value;
  }
  Value moved_by(std::uint64_t bytes) const {
    Value value = *this;
    value.move(bytes);
    return value;
  }
  /// The value of one run is cut into runs that start `stride` bytes apart; 0: left as one run.
  void cut(std::uint64_t stride) {
    for (Term& term : terms) term.step = stride;
    if (is_sum()) phase_step = stride % size_of(dtype).value;
  }
  /// Whether it can be added to elements of the type that begin `phase` bytes before the first byte.
  bool fits(DType of, std::uint64_t of_phase, std::uint64_t of_step) const {
    return !is_sum() || (dtype == of && phase == of_phase && phase_step == of_step);
  }
  /// Whether adjacent runs of `width` bytes hold one continuous piece.
  bool is_continuous(std::uint64_t width) const;

  /// True if `next` equals this value as seen `runs` runs later and has the same mark.
  bool continues(const Value& next, std::uint64_t runs) const;

  /// Sums compare their element type and phase as well; plain bytes do not. Marks do not count.
  friend bool operator==(const Value& a, const Value& b);
};

/// The sum of both, for runs that begin `phase` bytes into an element; false if one of them is a sum of other elements.
bool add(const Value& a, const Value& b, DType dtype, std::uint64_t phase, std::uint64_t phase_step, Value& sum);

}  // namespace cortado::verifier
