// What commands compute, as sources of terms (values.hpp). Their numbers follow those of the buffers.
//
// A result is a matrix product, a function of operands (one row of it, if the function works row by row), a sum that is
// an operand of a GEMM, or it has no name and equals nothing but itself. Operands of functions and GEMMs are inputs or
// results themselves: equal functions of equal operands have the same source. Element (i, j) of a GEMM is
//   sum over t < k of A[a + t * element] * B[b + t * pitch]
// where a is the address of row i of A and b that of column j of B. All elements of a GEMM of whole matrices share
// everything but a and b, so they share a source, and the term's offset encodes both:
//   offset = low 32 bits of a, then low 32 bits of b
// Moving along the bytes of a row of C advances b, as with plain bytes; moving from row to row of C advances a, by the
// term's step. The high bits belong to the source. Code that makes terms for several bytes or rows must cut them where
// the high bits change (multiply.hpp does), so that no carry ever leaves its half: equal terms are equal GEMMs,
// whatever the size of the buffers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "verify/values.hpp"

namespace cortado::verifier {

/// A byte of an input, as the caller wrote it in an iteration, or of a result.
struct Origin {
  std::uint32_t source = 0;  ///< as in Term
  std::uint32_t iteration = 0;
  std::uint64_t offset = 0;
  friend auto operator<=>(const Origin&, const Origin&) = default;
};

/// A GEMM as a term, spelled out.
struct ProductTerm {
  Origin a;                   ///< first byte of the row of A
  std::uint64_t a_step = 0;   ///< from run to run
  Origin b;                   ///< byte of the column of B, in the first of k rows
  std::uint64_t b_pitch = 0;  ///< from row to row of B; 0 if k is 1
  std::uint64_t k = 0;
  DType dtype = DType::f32;
};

class Results {
 public:
  explicit Results(std::uint32_t buffers) : buffers_(buffers) {}

  /// A source that equals nothing else.
  std::uint32_t unnamed();

  /// Sums of more terms are not followed: every doubling x + x has twice as many.
  static constexpr std::size_t kMostTerms = std::size_t{1} << 16;
  /// The source of a sum of more terms; it equals nothing else.
  std::uint32_t long_sum();
  bool is_long_sum(const Term& term) const { return !long_sums_.empty() && long_sums_.contains(term.source); }

  /// Bytes of the elements that a value consists of; 1 where every byte stands for itself, as in inputs. Sums, GEMMs
  /// and functions are up to rounding: two results that are equal may differ in all bytes of an element.
  std::uint64_t element(const Value& value) const {
    if (value.is_sum()) return size_of(value.dtype).value;
    return value.terms.empty() || value.terms.front().source < buffers_ ? 1 : element(value.terms.front());
  }

  /// The result of a function of operands; for a function that works row by row, of one row of them.
  struct Application {
    Function function = Function::rms_norm;
    std::vector<std::uint64_t> parameters{};
    std::vector<std::uint32_t> operands{};  ///< numbers of contents
    friend auto operator<=>(const Application&, const Application&) = default;
  };
  std::uint32_t function(Application application);
  /// The application that a term stands for; nullptr if it is something else.
  const Application* application(const Term& term) const;

  /// Consecutive bytes of a matrix: values with their widths. Equal contents of equally many rows have equal numbers,
  /// however they are cut.
  using Content = std::vector<std::pair<std::uint64_t, Value>>;
  std::uint32_t content(const Content& pieces, std::uint64_t rows);
  const Content& content(std::uint32_t number) const { return contents_[number]; }
  std::uint64_t rows(std::uint32_t number) const { return rows_[number]; }

  /// The value as a single term, so that it can be a factor: a sum becomes a source. None if it is a sum whose terms
  /// advance differently from run to run.
  std::optional<Term> as_term(const Value& value);

  /// Bits in each half of a term's offset.
  static constexpr unsigned kHalf = 32;

  Term term(const ProductTerm& product);
  /// The GEMM that a term stands for; none if it is something else.
  std::optional<ProductTerm> product(const Term& term) const;

  /// Within a sum, GEMMs over adjacent ranges of k become one GEMM, so that a GEMM made of panels equals the whole.
  /// `phase` is the position of the first byte within its element.
  void join_panels(Terms& terms, DType dtype, std::uint64_t phase);
  /// True if two of the terms are GEMMs of rows of the same A. If not, there is nothing to join: sums over many ranks
  /// are like that, and need no comparison pair by pair.
  bool may_join(const Terms& terms) const;

 private:
  struct Factors {
    Origin a;  // its offset holds only the high bits
    Origin b;
    std::uint64_t b_pitch;
    std::uint64_t k;
    DType dtype;
    friend auto operator<=>(const Factors&, const Factors&) = default;
  };

  std::uint64_t element(const Term& result) const;

  bool is_product(const Term& term) const {
    return term.source >= buffers_ && results_[term.source - buffers_].has_value();
  }

  std::uint32_t next() const { return buffers_ + static_cast<std::uint32_t>(results_.size()); }

  std::uint32_t buffers_;
  std::vector<std::optional<Factors>> results_;  // none: not a GEMM
  std::map<Factors, std::uint32_t> known_;       // their sources
  std::map<Application, std::uint32_t> functions_;
  std::map<std::uint32_t, const Application*> applications_;     // by source
  std::map<std::vector<std::uint64_t>, std::uint32_t> numbers_;  // of contents, by their full description
  std::vector<Content> contents_;
  std::vector<std::uint64_t> rows_;                           // of contents
  std::map<std::vector<std::uint64_t>, std::uint32_t> sums_;  // offsets relative to the first byte of the first term
  std::set<std::uint32_t> long_sums_;
};

}  // namespace cortado::verifier
