// How the GEMM of a rank is cut into chunks, and these into pieces.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/ficco/matrix.hpp"
#include "plan/t3.hpp"

namespace cortado::plan {

class Chunks {
 public:
  /// `axis` must be resolved; there must be at least as many rows or columns as chunks.
  Chunks(const GemmShape& gemm, T3Axis axis, std::uint32_t count, std::uint64_t tile_m);

  std::uint32_t count() const { return count_; }
  Span rows(std::uint32_t chunk) const;
  Span columns(std::uint32_t chunk) const;
  Bytes row_bytes(std::uint32_t chunk) const { return element_ * columns(chunk).count; }
  Bytes bytes(std::uint32_t chunk) const { return row_bytes(chunk) * rows(chunk).count; }

  /// Rows of each piece, counted from the first one of the chunk. There are no more pieces than rows of tiles.
  std::vector<Span> pieces(std::uint32_t chunk, std::uint64_t wanted) const;

  /// Enough that each is one row of tiles, or as many of these as sixteen tracker entries can watch.
  std::uint64_t fitting_pieces(std::uint32_t chunk, Bytes granularity) const;

 private:
  std::uint64_t tile_rows(std::uint32_t chunk) const;

  std::uint64_t m_;
  std::uint64_t n_;
  Bytes element_;
  T3Axis axis_;
  std::uint32_t count_;
  std::uint64_t tile_m_;
};

}  // namespace cortado::plan
