// Where the time of a GEMM alone goes, by the model of gemm.hpp: what cutting a GEMM changes, told apart.
//
//   multiply   all compute units multiply at the rate that they reach in an endless tile: operations only, the same for
//              a GEMM and for its pieces together
//   tiles      tiles that need operands for every multiplication, and the padding of tiles at the edges
//   operands   latency, memory and caches do not bring as fast as the units multiply
//   results    what a GEMM adds to is read as well; no more than that makes it slower
//   starts     of waves behind the first: first loads, stores of the result; the sums of a split GEMM
//   idle       units without a workgroup in a wave that is filled in part
//
// Causes that hide behind greater ones count nothing. All is at the clock that the machine file gives
// for the element type, and so is their sum, the estimate of estimate_gemm.
#pragma once

#include "gemm/gemm.hpp"

namespace cortado {

/// Seconds.
struct GemmTimeParts {
  double products = 0;
  double tiles = 0;
  double operands = 0;
  double results = 0;
  double starts = 0;
  double idle = 0;

  double sum() const { return products + tiles + operands + results + starts + idle; }
  GemmTimeParts& operator+=(const GemmTimeParts& other);
};

/// Alone on all compute units. The machine passed check_gemm.
GemmTimeParts gemm_time_parts(const GemmShape& shape, const Tiling& tiling, const Machine& machine);

}  // namespace cortado
