// Matrix products of symbolic values.
#pragma once

#include <cstdint>
#include <vector>

#include "cortado/program.hpp"

#include "verify/results.hpp"
#include "verify/runs.hpp"
#include "verify/symbolic_buffer.hpp"

namespace cortado::verifier {

/// What a rectangle of a matrix holds; columns are bytes, and the runs of the value are the rows.
struct Block {
  Rectangle at;
  Value value;

  std::uint64_t rows() const { return at.row_end - at.row_begin; }
};

/// Pieces of a region, by places, as blocks of a matrix with rows of `width` bytes.
std::vector<Block> blocks_of(const std::vector<Piece>& pieces, std::uint64_t width);

/// The part of a block.
Value value_of(const Block& block, const Rectangle& part);

/// A·B. Both operands are covered by their blocks, and A has as many columns as B has rows. Parts of the operands that
/// are inputs, results or sums of such give GEMMs of these; where they were never written neither is the GEMM;
/// parts that are no whole elements give results without a name. The blocks of the result are disjoint, in the order of
/// their first rows.
std::vector<Block> multiply(std::vector<Block> a, std::vector<Block> b, DType dtype, Results& results);

/// What the output of a clause must be in an iteration.
std::vector<Block> expected_product(const ProductClause& clause, std::uint32_t iteration, Results& results);

}  // namespace cortado::verifier
