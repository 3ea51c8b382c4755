#include "plan/ficco/row_blocks.hpp"

#include <algorithm>
#include <limits>

#include "base/check.hpp"

namespace cortado::plan {
namespace {

/// Rows of a matrix as one row of a region.
Region as_rows(const Matrix& matrix, std::uint64_t first_row, std::uint64_t block, std::uint64_t count,
               std::uint64_t distance) {
  return {matrix.buffer, matrix.offset + matrix.pitch * first_row, matrix.pitch * block, count,
          count == 1 ? Bytes{} : matrix.pitch * distance};
}

/// The least distance between the places of neighbours among the blocks from `begin` on that have the size of the
/// first.
std::uint64_t least_distance(const std::vector<RowBlock>& blocks, std::size_t begin) {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (std::size_t i = begin + 1; i < blocks.size() && blocks[i].rows == blocks[begin].rows; ++i) {
    least = std::min(least, blocks[i].placed - blocks[i - 1].placed);
  }
  return least;
}

/// The blocks in the stack and at their places, and the numbers of the places: what one kernel moves.
struct EvenBlocks {
  Region stack;
  Region places;
  std::vector<std::uint64_t> numbers;
};

std::vector<EvenBlocks> even_blocks(const std::vector<RowBlock>& blocks, const Matrix& stack, const Matrix& places) {
  CORTADO_CHECK(stack.pitch == places.pitch, "whole rows move");
  std::vector<EvenBlocks> all;
  for (std::size_t i = 0; i < blocks.size();) {
    const RowBlock& first = blocks[i];
    const std::uint64_t distance = least_distance(blocks, i);
    std::vector<std::uint64_t> numbers;
    for (; i < blocks.size() && blocks[i].rows == first.rows && (blocks[i].placed - first.placed) % distance == 0;
         ++i) {
      numbers.push_back((blocks[i].placed - first.placed) / distance);
    }
    all.push_back({as_rows(stack, first.stacked, first.rows, numbers.size(), first.rows),
                   as_rows(places, first.placed, first.rows, numbers.back() + 1, distance), std::move(numbers)});
  }
  return all;
}

}  // namespace

std::uint64_t total_rows(const std::vector<Piece>& pieces) {
  std::uint64_t rows = 0;
  for (const Piece& piece : pieces) rows += piece.rows();
  return rows;
}

bool stand_together(const std::vector<Piece>& pieces, Span Piece::*rows) {
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    if ((pieces[i].*rows).begin != (pieces[i - 1].*rows).end()) return false;
  }
  return true;
}

std::vector<RowBlock> stacked(const std::vector<Piece>& pieces, Span Piece::*rows) {
  std::vector<RowBlock> blocks;
  std::uint64_t row = 0;
  for (const Piece& piece : pieces) {
    blocks.push_back({row, (piece.*rows).begin, piece.rows()});
    row += piece.rows();
  }
  return blocks;
}

std::vector<Kernel> scatter_kernels(const std::vector<RowBlock>& blocks, const Matrix& stack, const Matrix& places) {
  std::vector<Kernel> kernels;
  for (EvenBlocks& even : even_blocks(blocks, stack, places)) {
    kernels.push_back({KernelOp::scatter_rows, {even.stack}, even.places, DType::u8, std::move(even.numbers)});
  }
  return kernels;
}

std::vector<Kernel> gather_kernels(const std::vector<RowBlock>& blocks, const Matrix& places, const Matrix& stack) {
  std::vector<Kernel> kernels;
  for (EvenBlocks& even : even_blocks(blocks, stack, places)) {
    kernels.push_back({KernelOp::gather_rows, {even.places}, even.stack, DType::u8, std::move(even.numbers)});
  }
  return kernels;
}

}  // namespace cortado::plan
