// What bytes hold, in symbols: which input bytes of which iteration, or a sum of such.
//
// A value stands for all bytes of a set of runs (runs.hpp). It tells the first byte of the first run; byte d of run k
// holds every term moved on by k * step + d. So a block of any size that was copied as a whole is one value.
#pragma once

#include <compare>
#include <cstdint>

#include "cortado/program.hpp"

#include "base/small_vector.hpp"

namespace cortado::verifier {

/// Input bytes as the caller wrote them in an iteration; or, with a source behind the last buffer, a GEMM of such or
/// a result that has no name (results.hpp).
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
  std::uint64_t phase = 0;       ///< of a sum: position of the first byte within its element
  std::uint64_t phase_step = 0;  ///< from run to run

  bool is_defined() const { return !terms.empty(); }
  bool is_sum() const { return terms.size() > 1; }

  /// As seen some runs further on.
  Value advanced_by(std::uint64_t runs) const;
  /// As seen some bytes further on in each run.
  Value moved_by(std::uint64_t bytes) const& { return Value(*this).moved_by(bytes); }
  Value moved_by(std::uint64_t bytes) &&;
  /// The value of one run cut into runs that start `stride` bytes apart; 0: left as one run.
  Value cut(std::uint64_t stride) const& { return Value(*this).cut(stride); }
  Value cut(std::uint64_t stride) &&;
  /// Whether runs of `width` bytes that touch each other hold one continuous piece.
  bool is_continuous(std::uint64_t width) const;

  /// `next` is what this is `runs` further on.
  bool continues(const Value& next, std::uint64_t runs) const;

  /// Sums compare with their elements, plain bytes without.
  friend bool operator==(const Value& a, const Value& b);
};

/// The sum of both for runs that begin `phase` bytes into an element; false if one of them is a sum of other elements.
bool add(const Value& a, const Value& b, DType dtype, std::uint64_t phase, std::uint64_t phase_step, Value& sum);

}  // namespace cortado::verifier
