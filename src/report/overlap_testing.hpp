// What the small reports in tests have in common.
#pragma once

#include "cortado/report/overlap_basis.hpp"

namespace cortado::report {

/// Eight GPUs of mi300x-8, simulated: the product takes 60 us alone, the collective 40 us, one after the other 100 us.
inline void set_small_basis(OverlapBasis& basis) {
  basis.gemm = "64x64x64 bf16";
  basis.collective = "all-gather";
  basis.bytes = 8_KiB;
  basis.ranks = 8;
  basis.machine = "mi300x-8";
  basis.where = "simulated mi300x-8";
  basis.simulated = true;
  basis.gemm_alone = {60'000};
  basis.comm_alone = {40'000};
  basis.serial = {100'000};
  basis.ideal = {60'000};
  basis.scenario = "G-long";
}

}  // namespace cortado::report
