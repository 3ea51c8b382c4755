// What commands compute, as sources of terms (values.hpp): numbers behind those of the buffers.
//
// A result is a matrix product of input bytes, or it has no name and equals nothing but itself. Element (i, j) of a
// product is
//   sum over t < k of A[a + t * element] * B[b + t * pitch]
// with a the address of row i of A and b that of column j of B. All elements of a product of whole matrices share
// everything but a and b, so they share a source, and the term's offset tells both:
//   offset = low 32 bits of a, then low 32 bits of b
// Bytes of a row of C move b on, as they do with plain bytes; rows of C move a on, by the term's step. The high bits
// belong to the source. Who makes terms for several bytes or rows must cut them where the high bits change
// (multiply.hpp does), so no carry ever leaves its half: equal terms are equal products, whatever the size of the
// buffers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "verify/values.hpp"

namespace cortado::verifier {

/// A byte of an input, as the caller wrote it in an iteration.
struct Origin {
  std::uint32_t buffer = 0;
  std::uint32_t iteration = 0;
  std::uint64_t offset = 0;
  friend auto operator<=>(const Origin&, const Origin&) = default;
};

/// A product as a term, told in full.
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

  /// A source that nothing else is equal to.
  std::uint32_t unnamed();

  bool is_buffer(const Term& term) const { return term.source < buffers_; }

  /// The halves of a term's offset.
  static constexpr unsigned kHalf = 32;

  Term term(const ProductTerm& product);
  /// The product that a term stands for; none if it is something else.
  std::optional<ProductTerm> product(const Term& term) const;

  /// Products over neighbouring ranges of k of one sum become one product, so that a product made of panels equals the
  /// whole. `phase` is the position of the first byte within its element.
  void join_panels(Terms& terms, DType dtype, std::uint64_t phase);

 private:
  struct Factors {
    Origin a;  // its offset: the high bits
    Origin b;
    std::uint64_t b_pitch;
    std::uint64_t k;
    DType dtype;
    friend auto operator<=>(const Factors&, const Factors&) = default;
  };

  bool is_product(const Term& term) const {
    return term.source >= buffers_ && results_[term.source - buffers_].has_value();
  }

  /// Two of the terms are products of rows of one A. If not, there is nothing to join: sums over many ranks are like
  /// that, and need not be looked at pair by pair.
  bool may_join(const Terms& terms) const;

  std::uint32_t buffers_;
  std::vector<std::optional<Factors>> results_;
  std::map<Factors, std::uint32_t> known_;  // their sources
};

}  // namespace cortado::verifier
