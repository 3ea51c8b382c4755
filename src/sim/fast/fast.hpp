// Fast estimates without simulating all GPUs: one GPU stands for all.
//
// The simulator follows every copy of every GPU, which is too slow for choosing among dozens of
// alternatives. Here the kernels and engines of one GPU run on the simulator's clock, resources and
// solver (sim/gpu, sim/fluid), with the same start-up times. What the GPU sends stands for what it
// receives: a copy over a link uses fabric, cache and memory of the GPU twice, once for each end.
//
// Two questions are answered:
//   time_of_rank      a program of one rank (RankProgram of plan/ficco.hpp): its kernels, and the
//                     queues of engines or parts of a copy kernel that they wait for, or that wait for
//                     them
//   time_beside       a GEMM, and beside it a collective as one flow that takes as long as the
//                     collective alone and uses, on average, as much of links and memory
//
// Simplifications compared with the simulator: consecutive copies of one queue without a signal between
// them are one flow; the workgroups of a wave begin together, except in GEMMs whose tiles wait or
// release; packets are not issued one by one.
#pragma once

#include <cstdint>

#include "cortado/machine.hpp"
#include "cortado/program.hpp"
#include "cortado/result.hpp"

#include "gemm/gemm.hpp"

namespace cortado::sim {

enum class Sharing {
  ignored,   ///< everything runs as fast as it would alone: a lower bound of every simulation
  modelled,  ///< close to the simulated time
};

/// The program must have one host queue, and otherwise queues of this rank only, with at most one stream of kernels.
/// `closed`: the rank waits for nothing but these queues; otherwise they stand for those of other ranks that are only
/// roughly alike, and the lower bound does not count them. The machine must have timing and have passed check_gemm.
/// Fails with sim.stall if kernels wait for ever.
Result<Nanoseconds> time_of_rank(const Program& program, bool closed, const Machine& machine, Sharing sharing);

/// A collective running alone, as the busiest GPU sees it.
struct CollectiveProfile {
  Nanoseconds time{};
  double bytes_out = 0;                ///< over its links
  double bytes_in = 0;                 ///< over its links
  double footprint = 0;                ///< total bytes of its buffers
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
  std::uint32_t gemm_units = 0;        ///< units that the GEMM may occupy
  std::uint32_t collective_units = 0;  ///< units that the collective takes; 0: it runs on engines
  bool collective_first = false;       ///< the collective is launched first
};

/// Time until both are done. The machine must have timing and have passed check_gemm.
Nanoseconds time_beside(const Overlap& overlap, const CollectiveProfile& collective, const Machine& machine);

}  // namespace cortado::sim
