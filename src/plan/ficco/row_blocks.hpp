// Blocks of rows between where they stand together and where they belong.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/ficco/steps.hpp"

namespace cortado::plan {

std::uint64_t total_rows(const std::vector<Piece>& pieces);

/// The rows of every piece, given or placed, come right behind those of the one before it.
bool stand_together(const std::vector<Piece>& pieces, Span Piece::*rows);

/// Rows that stand somewhere, and one below another with other blocks.
struct RowBlock {
  std::uint64_t stacked = 0;  ///< first row in the stack
  std::uint64_t placed = 0;   ///< first row at their place
  std::uint64_t rows = 0;
};
std::vector<RowBlock> stacked(const std::vector<Piece>& pieces, Span Piece::*rows);

/// Kernels that bring blocks from a stack to their places, or from there to the stack. Places ascend. A kernel moves
/// blocks of one size whose places are multiples of a distance apart, each as one row: one kernel if all are even.
/// Matrices have the same pitch and no gaps.
std::vector<Kernel> scatter_kernels(const std::vector<RowBlock>& blocks, const Matrix& stack, const Matrix& places);
std::vector<Kernel> gather_kernels(const std::vector<RowBlock>& blocks, const Matrix& places, const Matrix& stack);

}  // namespace cortado::plan
