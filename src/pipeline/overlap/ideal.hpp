// The bound that strategies are measured against: the longer of the GEMM and the collective, each alone and as fast as
// any strategy may run it. For a collective after a GEMM, whose launches can be hidden, only the time on the links
// counts.
#pragma once

#include "cortado/machine.hpp"
#include "cortado/plan.hpp"

#include "plan/overlap.hpp"

namespace cortado::pipeline {

/// Alone, as `serial` does them.
struct TimesAlone {
  Nanoseconds gemm;
  Nanoseconds overlappable;  ///< the collective; of an all-reduce behind a GEMM the reduce-scatter
  Nanoseconds behind;        ///< of such an all-reduce the all-gather
  Nanoseconds library;       ///< the whole collective
};

/// Predicted. Collectives on DMA engines are asked for only where they can make a difference.
Nanoseconds predicted_ideal(const OverlapProblem& problem, const Machine& machine, const StrategyCosts& costs,
                            const TimesAlone& alone);

}  // namespace cortado::pipeline
