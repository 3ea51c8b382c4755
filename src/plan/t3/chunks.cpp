#include "plan/t3/chunks.hpp"

#include <algorithm>

namespace cortado::plan {

Chunks::Chunks(const GemmShape& gemm, T3Axis axis, std::uint32_t count, std::uint64_t tile_m)
    : m_(gemm.m), n_(gemm.n), element_(size_of(gemm.dtype)), axis_(axis), count_(count), tile_m_(tile_m) {}

Span Chunks::rows(std::uint32_t chunk) const {
  return axis_ == T3Axis::rows ? part_of({0, m_}, count_, chunk) : Span{0, m_};
}

Span Chunks::columns(std::uint32_t chunk) const {
  return axis_ == T3Axis::columns ? part_of({0, n_}, count_, chunk) : Span{0, n_};
}

std::uint64_t Chunks::tile_rows(std::uint32_t chunk) const {
  return (rows(chunk).count + tile_m_ - 1) / tile_m_;
}

std::vector<Span> Chunks::pieces(std::uint32_t chunk, std::uint64_t wanted) const {
  const std::uint64_t count = std::min(wanted, tile_rows(chunk));
  std::vector<Span> pieces;
  for (std::uint64_t i = 0; i < count; ++i) pieces.push_back(part_of({0, rows(chunk).count}, count, i, tile_m_));
  return pieces;
}

/// Smaller pieces would only cost commands.
constexpr std::uint64_t kEntriesOfPiece = 16;

std::uint64_t Chunks::fitting_pieces(std::uint32_t chunk, Bytes granularity) const {
  const std::uint64_t tile_row = (row_bytes(chunk) * tile_m_).value;
  const std::uint64_t together = std::max<std::uint64_t>(kEntriesOfPiece * granularity.value / tile_row, 1);
  return std::max<std::uint64_t>(tile_rows(chunk) / together, 1);
}

}  // namespace cortado::plan
