// A buffer as column strips, so that a strided region is a few intervals of rows and not one interval for each row.
//
// With pitch P, byte x is in row x / P and column x % P. The columns are cut wherever a region begins or ends; then
// every region is a range of rows in each of the strips that it covers. A buffer without strided regions has P = 1: one
// strip whose rows are the bytes. If strided regions of one buffer differ in pitch, P = 1 as well, and their rows are
// handled one by one.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "cortado/program.hpp"

#include "base/small_vector.hpp"
#include "verify/regions.hpp"

namespace cortado::verifier {

class Strips {
 public:
  /// For regions of one buffer; no other regions may be looked up later.
  explicit Strips(std::span<const Region> regions);
  Strips() : Strips(std::span<const Region>{}) {}

  std::size_t count() const { return cuts_.size() - 1; }

  Bytes width(std::size_t strip) const { return {cuts_[strip + 1] - cuts_[strip]}; }

  struct Cell {
    std::size_t strip = 0;
    std::uint64_t begin = 0;  ///< rows
    std::uint64_t end = 0;
  };
  using Cells = SmallVector<Cell, 2>;
  Cells cells(const Region& region) const;

  /// The same one by one, without a list for the usual case of a single cell.
  template <class Visitor>
  void for_each_cell(const Region& region, Visitor&& visit) const {
    if (is_one_cell(region)) return visit(whole(region));
    for (const Cell& cell : cells(region)) visit(cell);
  }

  /// The first contiguous run of the cell, as a half-open range of bytes of the buffer.
  std::pair<std::uint64_t, std::uint64_t> first_run(const Cell& cell) const;

 private:
  bool is_one_cell(const Region& region) const { return pitch_ == 1 && !is_strided(region); }
  static Cell whole(const Region& region) {
    return {0, region.offset.value, region.offset.value + region.bytes().value};
  }

  std::uint64_t pitch_ = 1;
  std::vector<std::uint64_t> cuts_;  // ascending, from 0 to the pitch
};

}  // namespace cortado::verifier
