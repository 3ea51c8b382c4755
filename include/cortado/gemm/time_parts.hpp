// Where the time of a product alone goes, by the model of gemm.hpp: what cutting a product changes, told apart.
//
//   products   all compute units multiply at the rate that they reach in a long tile of 256 x 256: operations only, the
//              same for a product and for its pieces together
//   tiles      smaller tiles that need more operands a multiplication, and the padding of tiles at the edges
//   operands   memory and caches do not bring as fast as the units multiply
//   results    what a product adds to is read as well; no more than that makes it slower
//   starts     of tiles: first loads, stores of the result
//   idle       units without a workgroup in a wave that is filled in part
//
// Each is what the time would be shorter without it, taken away in the order from below: idle first, then starts. So a
// cause that hides behind a greater one counts nothing. Their sum is the estimate of estimate_gemm.
#pragma once

#include "cortado/gemm/gemm.hpp"

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
