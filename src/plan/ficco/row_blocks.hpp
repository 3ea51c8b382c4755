// Blocks of rows from where they stand together to where they belong.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/ficco/steps.hpp"

namespace cortado::plan {

std::uint64_t total_rows(const std::vector<Piece>& pieces);

/// The rows of every piece come right behind those of the one before it.
bool stand_together(const std::vector<Piece>& pieces);

struct RowBlock {
  std::uint64_t from = 0;  ///< first row
  std::uint64_t to = 0;    ///< first row
  std::uint64_t rows = 0;
};

/// Kernels that scatter blocks, which stand one below another in `from`, in ascending order to `to`. A kernel moves
/// blocks of one size whose places are multiples of a distance apart, each as one row: one kernel if all are even.
/// Matrices have the same pitch and no gaps.
std::vector<Kernel> scatter_kernels(const std::vector<RowBlock>& blocks, const Matrix& from, const Matrix& to);

}  // namespace cortado::plan
