// Compares the output of a GEMM clause with what the input pattern implies.
//
// Factors are small non-negative integers (pattern.hpp), so every element is an integer, and so is every partial sum,
// which is at most the element. Let E be as defined there.
//   - An element of at most E is exact however it was computed: nothing was ever rounded, and the output must equal it.
//   - A larger one may have been rounded, once by each command that computes. Each rounding moves it by at most half a
//     unit of the last place, and no partial sum is twice as large as the element:
//       |found - exact| <= roundings * unit(exact)
//     where unit(x) is the distance of neighbouring values of the type at x. The element rounded once always passes.
//     Factors are so sparse that hardly any element is that large (f8: one in a million, others: none).
//
// `roundings`: a program computes `partials` partial GEMMs, one per Gemm, or split_k of them if its output map adds
// them up in memory, and each is rounded once. However they are summed, by kernels, adding copies or adding stores,
// joining all of them takes at most partials - 1 sums, each rounded once, and no more than there are commands that sum.
// So for a fused reduce-scatter over N ranks: roundings <= 2 N split_k - 1.
//
// Multiplying the matrices again would take as long as the program itself. Instead, with random 64-bit numbers x(j) and
// arithmetic modulo 2^64,
//   sum over j of C(i, j) x(j)  =  sum over t of A(i, t) y(t),   y(t) = sum over j of B(t, j) x(j)
// is checked for every row i: as much work as reading the matrices once. A wrong row passes by accident with
// probability 2^-40 or less (the difference of two elements is below 2^24). Rows that fail are computed element by
// element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/executor/pattern.hpp"

namespace cortado::device {

/// Upper bound of how often an element of a GEMM can be rounded in an iteration.
std::uint64_t roundings_of(const Program& program);

struct WrongElements {
  std::uint64_t count = 0;
  // The first of them, and its expected value, rounded once.
  std::uint64_t row = 0;
  std::uint64_t column = 0;
  float expected = 0;
};

class ProductCheck {
 public:
  ProductCheck(const ProductClause& clause, const std::vector<ElementFormat>& formats, std::uint64_t seed,
               std::uint64_t iteration, std::uint64_t roundings);

  /// `memory` is the buffer of the output. Once a wrong element is known and much work has been spent on wrong rows,
  /// all elements of further wrong rows count as wrong.
  WrongElements compare(const std::byte* memory);

 private:
  /// A GEMM of the clause: the patterns of its operands, and y.
  struct Factors {
    const Product* product;
    std::vector<BufferPattern> a;  // of its blocks
    BufferPattern b;
    std::vector<std::uint64_t> y;
  };

  void read_integers(const BufferPattern& pattern, const Region& matrix, std::uint64_t row, std::uint64_t count);
  /// Calls visit(factors, row of A in integers_) for every GEMM; `row` is a row of the output.
  template <class Visitor>
  void for_each_row_of_a(std::uint64_t row, Visitor&& visit);
  bool row_fits(const std::byte* elements, std::uint64_t row);
  void compare_row(const std::byte* elements, std::uint64_t row, WrongElements& wrong);
  bool close(float found, std::uint64_t exact) const;

  const ProductClause& clause_;
  std::uint64_t columns_;
  std::uint64_t roundings_;
  std::vector<std::uint64_t> x_;
  std::vector<Factors> factors_;
  std::vector<std::uint16_t> integers_;  // the row last read
  std::vector<std::uint16_t> line_;      // a row of B, while integers_ holds one of A
  std::vector<std::uint64_t> exact_;     // a row of the output
};

}  // namespace cortado::device
