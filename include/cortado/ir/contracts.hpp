// The contracts of the usual collectives. Vectors are indexed by rank; regions are given by the planner, so that blocks
// may be uneven and outputs may be the input buffers (in place).
#pragma once

#include <vector>

#include "cortado/ir/program.hpp"

namespace cortado {

/// The part of a one-row region from `offset`, `bytes` long.
constexpr Region slice(const Region& region, Bytes offset, Bytes bytes) {
  return make_region(region.buffer, region.offset + offset, bytes);
}

/// outputs[r] = inputs[0], inputs[1], ... one after another, for every rank r.
Contract all_gather_contract(const std::vector<Region>& inputs, const std::vector<Region>& outputs);

/// send[i][j] goes to receive[j][i]; zero-size blocks make no clause.
Contract all_to_all_contract(const std::vector<std::vector<Region>>& send,
                             const std::vector<std::vector<Region>>& receive);

/// outputs[r] = sum over ranks i of blocks[i][r].
Contract reduce_scatter_contract(const std::vector<std::vector<Region>>& blocks, const std::vector<Region>& outputs,
                                 DType dtype);

/// outputs[r] = sum over ranks i of inputs[i], for every rank r.
Contract all_reduce_contract(const std::vector<Region>& inputs, const std::vector<Region>& outputs, DType dtype);

/// outputs[r] = input of the root, for every rank r that has an output.
Contract broadcast_contract(const Region& input, const std::vector<Region>& outputs);

/// output of the root = inputs[0], inputs[1], ... one after another.
Contract gather_contract(const std::vector<Region>& inputs, const Region& output);

/// outputs[r] = blocks[r], all blocks being the root's.
Contract scatter_contract(const std::vector<Region>& blocks, const std::vector<Region>& outputs);

/// C = A·B of the Gemm's operands; for one that accumulates, C was zero before.
ProductClause product_clause(const Gemm& gemm);

/// output = input.
Contract point_to_point_contract(const Region& input, const Region& output);

}  // namespace cortado
