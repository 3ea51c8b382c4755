// The tiles of a Gemm in production order: block by block as its output map lists them (one block, all of C, if it has
// none), and in row-major order within a block. Verifier, simulator and device count tiles in this order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cortado/program.hpp"

namespace cortado {

/// The output map, or the one block that stands for region c.
std::vector<OutputBlock> output_blocks(const Gemm& gemm);

/// ceil(rows / tile_m) * ceil(columns / tile_n).
std::uint64_t tile_count(const Gemm& gemm, const OutputBlock& block);
std::uint64_t tile_count(const Gemm& gemm);

/// The GEMM that computes one block by itself: rows of A, columns of B, and `to` as its c. It raises nothing;
/// `accumulate` is that of the whole Gemm, whatever the op of the block.
Gemm block_gemm(const Gemm& gemm, const OutputBlock& block);

/// The waits that hold a tile back.
std::span<const TileWait> waits_of_tile(const Gemm& gemm, std::uint64_t tile);

}  // namespace cortado
