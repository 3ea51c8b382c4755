#pragma once

#include "gemm/gemm.hpp"

namespace cortado {

/// Of an element type; flops_per_clock 0 where the machine has no GEMM of that type.
MatrixTiming matrix_timing(const ComputeTiming& compute, DType dtype);

/// Multiplications and additions per second of one compute unit within an endless tile, at the sustained clock.
double unit_flops(const ComputeTiming& compute, DType dtype);

/// Time of a multiply-add within a tile over that within an endless one, for which machine files give efficiency.
double tile_cost(const Tiling& tiling, double operand_cost);

/// unit_flops at another clock.
double unit_flops_at(double clock_ghz, DType dtype, const ComputeTiming& compute);

/// What the multiplications of so many waves take on units of that rate.
double multiply_seconds(const GemmShape& shape, const Tiling& tiling, double waves, double unit_flops,
                        const ComputeTiming& compute);

/// max(1, x + rounding (ceil(x) - x)).
double rounded_waves(double waves, double rounding);

/// For which machine files give the rate of L2 and latencies: the nominal clock of the compute dies.
double reference_clock_ghz(DType dtype, const Machine& machine);

}  // namespace cortado
