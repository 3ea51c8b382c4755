// Matrix products of symbolic values.
#pragma once

#include <cstdint>
#include <vector>

#include "cortado/program.hpp"

#include "verify/results.hpp"
#include "verify/runs.hpp"
#include "verify/symbolic_buffer.hpp"

namespace cortado::verifier {

/// The contents of a rectangle of a matrix; columns are counted in bytes, and the runs of the value are the rows.
struct Block {
  Rectangle at;
  Value value;

  std::uint64_t rows() const { return at.row_end - at.row_begin; }
};

using Blocks = SmallVector<Block, 1>;

/// Pieces of a region, addressed by place, as blocks of a matrix with rows of `width` bytes.
Blocks blocks_of(const Pieces& pieces, std::uint64_t width);

/// The value of a part of a block.
Value value_of(const Block& block, const Rectangle& part);

/// A·B. Both operands must be covered by their blocks, and A must have as many columns as B has rows. Parts of the
/// operands that are inputs, results or sums of these give GEMMs of them; where an operand was never written, the GEMM
/// counts as never written; parts that are not whole elements give unnamed results. The blocks of the result are
/// disjoint, in the order of their first rows.
Blocks multiply(Blocks a, Blocks b, DType dtype, Results& results);

/// What the output of a clause must be in the given iteration.
Blocks expected_product(const ProductClause& clause, std::uint32_t iteration, Results& results);

}  // namespace cortado::verifier
