// Loss by contention (CIL): how much longer GEMMs and copies take side by side than each kind alone.
//
//   cil_gemm = GEMMs of a rank in the overlapped run / the same GEMMs with no copies beside them
//              of the rank whose GEMMs take longest
//   cil_comm = copies in the overlapped run / the same copies with no kernels beside them
//              of all ranks together
//
// GEMMs count as the sum of their times; copies as the time that a queue has one under way, summed over the queues.
// Waiting is neither: it is not slower work, but none. So a copy that is held back until its staging is free loses
// nothing here, nor a collective on compute units that waits for units before it begins.
//
// Alone means: the same program without the commands of the other kind. All signals are raised as before, so what
// remains keeps its order. Copies and kernels beside the GEMMs in their own stream (own rows into a staging,
// scattered rows) never run at the same time as them; they count on neither side.
#pragma once

#include "cortado/target.hpp"
#include "cortado/timeline.hpp"

namespace cortado::pipeline {

/// Where the time of the kernels of one rank goes, that whose GEMMs take longest, and what copies take.
struct Contention {
  Nanoseconds products{};        ///< sum over the GEMMs
  Nanoseconds products_alone{};  ///< the same, with no copies beside them
  Nanoseconds other_kernels{};   ///< own rows into a staging, gathered and scattered rows, sums
  Nanoseconds first_wait{};      ///< before the first GEMM that needs what others send
  Nanoseconds later_waits{};     ///< between GEMMs
  Nanoseconds copies{};          ///< of all ranks, summed over queues
  Nanoseconds copies_alone{};    ///< the same, with no kernels beside them

  double gemm() const;  ///< 1 = no loss
  double comm() const;
};

/// Of a program of plan_ficco and the traced timeline of its simulation, one iteration.
Outcome<Contention> contention_of(const CheckedProgram& program, const Timeline& overlapped);

}  // namespace cortado::pipeline
