// The output bytes that a clause of the contract requires, computed from the input pattern alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device/executor/pattern.hpp"
#include "device/executor/region_cursor.hpp"

namespace cortado::device {

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
