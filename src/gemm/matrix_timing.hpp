#pragma once

#include "cortado/gemm/gemm.hpp"

namespace cortado {

/// Of a product's k: what is worth a workgroup of its own, and how many of them at most share a tile.
inline constexpr std::uint64_t kLeastDepth = 2048;
inline constexpr std::uint64_t kMostSplits = 16;

/// Of an element type; flops_per_clock 0 where the machine has no products of it.
MatrixTiming matrix_timing(const ComputeTiming& compute, DType dtype);

/// Multiplications and additions per second of one compute unit within a long tile.
double unit_flops(const ComputeTiming& compute, DType dtype);

/// Time of a multiply-add within a tile over that within a tile of 256 x 256, for which machine files give efficiency.
double tile_cost(const Tiling& tiling, double operand_cost);

}  // namespace cortado
