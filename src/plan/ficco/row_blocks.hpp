// Blocks of rows, moved between where they are stacked together and where they belong.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/ficco/steps.hpp"

namespace cortado::plan {

std::uint64_t total_rows(const std::vector<Piece>& pieces);

/// Whether the rows of every piece, given or placed, directly follow those of the previous piece.
bool stand_together(const std::vector<Piece>& pieces, Span Piece::*rows);

/// Rows at a place, which are also stacked below other blocks.
struct RowBlock {
  std::uint64_t stacked = 0;  ///< first row in the stack
  std::uint64_t placed = 0;   ///< first row at its place
  std::uint64_t rows = 0;
};
std::vector<RowBlock> stacked(const std::vector<Piece>& pieces, Span Piece::*rows);

/// Kernels that bring blocks from a stack to their places, or back. Places must ascend. A kernel moves blocks of one
/// size whose places are multiples of a distance apart, each as one row: one kernel is enough if all are even. Matrices
/// must have the same pitch and no gaps.
std::vector<Kernel> scatter_kernels(const std::vector<RowBlock>& blocks, const Matrix& stack, const Matrix& places);
std::vector<Kernel> gather_kernels(const std::vector<RowBlock>& blocks, const Matrix& places, const Matrix& stack);

}  // namespace cortado::plan
