// What a GEMM takes at the least, however many compute units others leave it from one moment to the next.
//
// Let u be the units that it may use at some moment, of U, and s(u) the workgroups that each of them then completes per
// second: with fewer units the clock is higher, and caches and memory have fewer to serve. Until its last workgroups
// start, others hold no more units than they ask for, so that u is at least `least_units`, and
//
//   rounds     a unit that the GEMM has all the time completes the integral of s(u) workgroups. The last of all T
//              start no sooner than F = ceil(T / U) - 1 such rounds are over
//   work       all units together complete the integral of u s(u), which is T - X if X run when the last have started.
//              X is at least T - F U, or the next round is over, too
//
// So for any weight x this takes (x F + (1 - x) (T - X) / U) / A or longer, where A is the greatest s(u) (x + (1 - x) u
// / U). What runs then takes (X / u + wave_rounding (1 - X / u)) / s(u), on any u from X to U: others may hold all
// units that are idle. The bound is the sum for the X for which it is least, or the time of the memory if that is
// longer.
//
// Where s does not depend on u it is the GEMM alone. Where the board's power sets the clock, a GEMM may be faster than
// alone: its last wave, when others hold the units that it cannot use.
#pragma once

#include "gemm/gemm.hpp"

namespace cortado {

/// In seconds without launch and start, on all units of the GPU or on some of them, and at the clock that it has on as
/// many as it gets. The machine passed check_gemm.
double least_seconds_beside(const GemmShape& shape, const Tiling& tiling, const Machine& machine,
                            std::uint32_t least_units);

/// How workgroups of a GEMM in stages start.
enum class StageStarts {
  together,  ///< as many as there are units; their first reads delay them all
  in_turns,  ///< some read while others multiply, as where tiles wait, or others hold units for a while
};

/// On a machine whose GEMMs run in stages: on all units, by rows or by columns, whichever reads less, with nothing of C
/// in the cache and no stores in the way of reads. Not above estimate_gemm but for rounding.
double least_seconds_in_stages(const GemmShape& shape, const Tiling& tiling, const Machine& machine,
                               StageStarts starts);

}  // namespace cortado
