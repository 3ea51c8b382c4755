#pragma once

#include "cortado/gemm/gemm.hpp"

namespace cortado {

/// Of an element type; flops_per_clock 0 where the machine has no products of it.
MatrixTiming matrix_timing(const ComputeTiming& compute, DType dtype);

/// Multiplications and additions per second of one compute unit within a long tile.
double unit_flops(const ComputeTiming& compute, DType dtype);

}  // namespace cortado
