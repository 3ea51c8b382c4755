// The output bytes that a clause of the contract requires, computed from the input pattern alone.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cortado/program.hpp"

#include "device/executor/pattern.hpp"

namespace cortado::device {

/// Walks over the bytes of a region in row order.
class RegionCursor {
 public:
  explicit RegionCursor(const Region& region) : region_(region) {}

  BufferId buffer() const { return region_.buffer; }
  /// Offset in the buffer of the current byte.
  std::uint64_t offset() const { return region_.row_offset(row_).value + in_row_; }
  /// Number of contiguous bytes from here.
  std::uint64_t run() const { return row_ == region_.rows ? 0 : region_.width.value - in_row_; }

  /// By at most run() bytes.
  void advance(std::uint64_t bytes) {
    in_row_ += bytes;
    if (in_row_ == region_.width.value) {
      in_row_ = 0;
      ++row_;
    }
  }

 private:
  Region region_;
  std::uint64_t row_ = 0;
  std::uint64_t in_row_ = 0;
};

/// Hands out the expected bytes of one clause piece by piece, in the order of the output.
class Expectation {
 public:
  Expectation(const Clause& clause, const std::vector<ElementFormat>& formats, std::uint64_t seed,
              std::uint64_t iteration);

  struct Piece {
    std::uint64_t offset = 0;  ///< in the output buffer
    std::span<const std::byte> expected;
  };
  /// The next contiguous piece; an empty one at the end. Valid until the next call.
  Piece next();

 private:
  static constexpr std::size_t kPieceBytes = 8192;

  void copy_term(std::size_t bytes);
  void sum_integers(std::size_t bytes);
  void sum_wrapping(std::size_t bytes);

  const Clause& clause_;
  RegionCursor output_;
  std::vector<RegionCursor> terms_;
  std::vector<BufferPattern> patterns_;
  bool small_integers_ = false;
  std::array<std::uint32_t, kMaxSum + 1> bits_{};  // by value: bits of each possible sum of small integers
  alignas(8) std::array<std::byte, kPieceBytes> piece_;
  alignas(8) std::array<std::byte, kPieceBytes> addend_;
  std::array<std::uint16_t, kPieceBytes> sums_;  // an element has at least one byte
};

}  // namespace cortado::device
