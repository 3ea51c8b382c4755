// Contention loss (CIL): how much longer GEMMs and copies take concurrently than each kind alone.
//
//   cil_gemm = GEMMs of a rank in the overlapped run / the same GEMMs without concurrent copies
//              for the rank whose GEMMs take longest
//   cil_comm = copies in the overlapped run / the same copies without concurrent kernels
//              for all ranks together
//
// GEMMs count as the sum of their times; copies as the time in which a queue has one in flight, summed over the queues.
// Waiting does not count: it is not slower work, but no work. So a copy that waits until its staging is free loses
// nothing here, and neither does a collective on compute units that waits for units before it begins.
//
// Alone means: the same program without the commands of the other kind. All signals are raised as before, so what
// remains keeps its order. Other copies and kernels in the stream of the GEMMs (own rows into a staging,
// scattered rows) never run concurrently with them; they count on neither side.
#pragma once

#include "cortado/target.hpp"
#include "cortado/timeline.hpp"

namespace cortado::pipeline {

/// Where the time of the kernels goes, for the rank whose GEMMs take longest, and the time of copies.
struct Contention {
  Nanoseconds products{};        ///< sum over the GEMMs
  Nanoseconds products_alone{};  ///< the same without concurrent copies
  Nanoseconds other_kernels{};   ///< own rows into a staging, gathered and scattered rows, sums
  Nanoseconds first_wait{};      ///< before the first GEMM that needs what others send
  Nanoseconds later_waits{};     ///< between GEMMs
  Nanoseconds copies{};          ///< of all ranks, summed over queues
  Nanoseconds copies_alone{};    ///< the same without concurrent kernels

  double gemm() const;  ///< 1 = no loss
  double comm() const;
};

/// For a program of plan_ficco and the traced timeline of its simulation, one iteration.
Outcome<Contention> contention_of(const CheckedProgram& program, const Timeline& overlapped);

}  // namespace cortado::pipeline
