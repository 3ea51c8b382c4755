// Programs for the benchmarks of the simulator: all-gathers behind switches, and what breaks their symmetry.
#pragma once

#include <cstdint>
#include <string>

#include "cortado/machine.hpp"
#include "cortado/program.hpp"
#include "cortado/target.hpp"

namespace cortado::bench {

enum class Symmetry {
  symmetric,  ///< every rank does the same at the same time
  staggered,  ///< the host threads of the ranks begin up to 5 us late, each at random
  unequal,    ///< every copy is shorter by up to 10 %, each at random
};

std::string to_string(Symmetry symmetry);

/// Direct all-gather of 1 MiB blocks among `ranks` GPUs: every rank pushes to all others with all its peer engines, the
/// copies of an engine back to back in one queue; one host thread a rank. As planned, ranks differ a little: rank 0
/// leaves the barrier of the host threads first, and engines are given out by the number of the peer.
Program planned_all_gather(const Machine& machine, std::uint32_t ranks);

/// The same without these differences: all ranks begin at time zero and use their engines in the same order.
Program direct_all_gather(const Machine& machine, std::uint32_t ranks);

/// Breaks the symmetry of such a program; the same seed gives the same program.
void perturb(Program& program, const Machine& machine, Symmetry symmetry, std::uint64_t seed);

}  // namespace cortado::bench
