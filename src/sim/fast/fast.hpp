// Times without a simulation of all GPUs: one GPU stands for all.
//
// The simulator follows every copy of every GPU; to choose among dozens of ways that is too slow. Here the kernels of
// one GPU and its engines run on the simulator's clock, resources and solver (sim/gpu, sim/fluid), with the same
// start-ups. What the GPU sends stands for what it receives: a copy over a link takes fabric, cache and memory of the
// GPU twice, once for each end.
//
// Two questions are answered:
//   time_of_rank      a program of one rank (RankProgram of plan/ficco.hpp): its kernels, and queues of engines or
//   parts
//                     of a copy kernel that they wait for, or that wait for them
//   time_beside       a GEMM, and beside it a collective as one flow that takes as long as the collective alone, and on
//                     the average as much of links and memory
//
// Simplified against the simulator: copies of one queue that follow each other without a signal between them are one
// flow; waves of workgroups begin together, but for GEMMs whose tiles wait or release; packets are not issued one by
// one.
#pragma once

#include <cstdint>

#include "cortado/machine.hpp"
#include "cortado/program.hpp"
#include "cortado/result.hpp"

#include "gemm/gemm.hpp"

namespace cortado::sim {

enum class Sharing {
  ignored,   ///< everything goes as fast as alone: no simulation takes less
  modelled,  ///< near what a simulation takes
};

/// The program has one host queue, and queues of this rank only: at most one stream of kernels. `closed`: the rank
/// waits for nobody but these queues; else they stand for others that are about alike, and the least time does not
/// count them. The machine has timing and passed check_gemm. Fails with sim.stall where kernels wait for ever.
Result<Nanoseconds> time_of_rank(const Program& program, bool closed, const Machine& machine, Sharing sharing);

/// A collective alone, as the busiest GPU sees it.
struct CollectiveProfile {
  Nanoseconds time{};
  double bytes_out = 0;                ///< over its links
  double bytes_in = 0;                 ///< over its links
  double footprint = 0;                ///< bytes of its buffers
  std::uint32_t peers = 0;             ///< GPUs that it sends to
  Protocol protocol = Protocol::none;  ///< of its kernels
  friend bool operator==(const CollectiveProfile&, const CollectiveProfile&) = default;
};

/// From the program of a collective and its time.
CollectiveProfile profile_of(const Program& program, Nanoseconds time);

/// A GEMM and a collective that are launched together.
struct Overlap {
  GemmShape gemm{};
  Tiling tiling{};
  std::uint32_t gemm_units = 0;        ///< that the GEMM may occupy
  std::uint32_t collective_units = 0;  ///< that the collective takes; 0: it runs on engines
  bool collective_first = false;       ///< launched first
};

/// Until both are done. The machine has timing and passed check_gemm.
Nanoseconds time_beside(const Overlap& overlap, const CollectiveProfile& collective, const Machine& machine);

}  // namespace cortado::sim
