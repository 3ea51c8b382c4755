// The time of a schedule from its outline: one GPU stands for all.
//
// The simulator follows every copy of every GPU; to choose among dozens of schedules that is too slow. Here the kernels
// of one rank and its lanes of engines run as in the simulator (sim/gpu), with the same start-ups and the same demands
// of copies and workgroups. What the rank sends stands for what it receives: a copy takes fabric, cache and memory of
// the GPU twice, once for each end. Where these are full, kernels and copies share them as the simulator's solver does:
// all get the same share of their full speed, unless they are limited before that.
#pragma once

#include <functional>

#include "cortado/plan/ficco_outline.hpp"

namespace cortado::pipeline {

/// The kernel that a library takes for a product on all compute units.
using TilingOf = std::function<Tiling(const GemmShape&)>;

enum class Sharing {
  ignored,   ///< everything goes as fast as alone: no simulation takes less
  modelled,  ///< near what a simulation takes
};

/// The machine passed check_gemm.
Nanoseconds time_of_steps(const FiccoOutline& outline, const Machine& machine, const TilingOf& tiling_of,
                          Sharing contention);

}  // namespace cortado::pipeline
