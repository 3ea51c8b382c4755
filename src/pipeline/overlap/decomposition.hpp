// What the GEMMs of a program take alone, and why.
#pragma once

#include <cstdint>
#include <string>

#include "cortado/machine.hpp"
#include "cortado/program.hpp"

#include "gemm/time_parts.hpp"
#include "report/characterization.hpp"

namespace cortado::pipeline {

/// All GEMMs of one rank, one after the other, each alone on all compute units: of the rank for which that takes
/// longest.
struct Pieces {
  GemmTimeParts time;
  std::uint64_t count = 0;
  GemmShape largest;    ///< by operations; of equal ones the first
  std::string kernels;  ///< the tilings with most time: "256x256, 128x256/4", at most three
};

Pieces pieces_of(const Program& program, const Machine& machine);

/// What makes `pieces` take longer than `whole`, as shares of the whole.
report::DecompositionCauses causes_of(const GemmTimeParts& pieces, const GemmTimeParts& whole);

}  // namespace cortado::pipeline
