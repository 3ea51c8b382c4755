#include "plan/ficco/row_blocks.hpp"

#include <algorithm>
#include <limits>

#include "cortado/base/check.hpp"

namespace cortado::plan {
namespace {

/// Rows of a matrix as one row of a region.
Region as_rows(const Matrix& matrix, std::uint64_t first_row, std::uint64_t block, std::uint64_t count,
               std::uint64_t distance) {
  return {matrix.buffer, matrix.offset + matrix.pitch * first_row, matrix.pitch * block, count,
          count == 1 ? Bytes{} : matrix.pitch * distance};
}

/// Between the places of neighbours among the blocks from `begin` on that have the size of the first.
std::uint64_t least_distance(const std::vector<RowBlock>& blocks, std::size_t begin) {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (std::size_t i = begin + 1; i < blocks.size() && blocks[i].rows == blocks[begin].rows; ++i) {
    least = std::min(least, blocks[i].to - blocks[i - 1].to);
  }
  return least;
}

}  // namespace

std::uint64_t total_rows(const std::vector<Piece>& pieces) {
  std::uint64_t rows = 0;
  for (const Piece& piece : pieces) rows += piece.given.count;
  return rows;
}

bool stand_together(const std::vector<Piece>& pieces) {
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    if (pieces[i].placed.begin != pieces[i - 1].placed.end()) return false;
  }
  return true;
}

std::vector<Kernel> scatter_kernels(const std::vector<RowBlock>& blocks, const Matrix& from, const Matrix& to) {
  CORTADO_CHECK(from.pitch == to.pitch, "whole rows are scattered");
  std::vector<Kernel> kernels;
  for (std::size_t i = 0; i < blocks.size();) {
    const RowBlock& first = blocks[i];
    const std::uint64_t distance = least_distance(blocks, i);
    std::vector<std::uint64_t> numbers;
    for (; i < blocks.size() && blocks[i].rows == first.rows && (blocks[i].to - first.to) % distance == 0; ++i) {
      numbers.push_back((blocks[i].to - first.to) / distance);
    }
    const Region source = as_rows(from, first.from, first.rows, numbers.size(), first.rows);
    const Region dst = as_rows(to, first.to, first.rows, numbers.back() + 1, distance);
    kernels.push_back({KernelOp::scatter_rows, {source}, dst, DType::u8, std::move(numbers)});
  }
  return kernels;
}

}  // namespace cortado::plan
