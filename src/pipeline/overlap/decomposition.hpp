// The time of a program's GEMMs alone, and its causes.
#pragma once

#include <cstdint>
#include <string>

#include "cortado/machine.hpp"
#include "cortado/program.hpp"

#include "gemm/time_parts.hpp"
#include "report/characterization.hpp"

namespace cortado::pipeline {

/// All GEMMs of one rank in sequence, each alone on all compute units, for the rank for which that takes
/// longest.
struct Pieces {
  GemmTimeParts time;
  std::uint64_t count = 0;
  GemmShape largest;    ///< by operations; the first of equal ones
  std::string kernels;  ///< the tilings with the most time: "256x256, 128x256/4", at most three
};

Pieces pieces_of(const Program& program, const Machine& machine);

/// Why `pieces` take longer than `whole`, as shares of the whole.
report::DecompositionCauses causes_of(const GemmTimeParts& pieces, const GemmTimeParts& whole);

}  // namespace cortado::pipeline
