// The cost of the variants of an exchange: a closed-form estimate from bytes and the timing of the machine.
//
// Each of the S steps brings a piece of B bytes from a rank to each of its P peers, while its kernels take G for the
// previous step, of which its GEMMs take Q. The host builds all packets up front and launches the kernels after them,
// which delays everything by
//
//   U = queues x submit + packets of all steps x packet
//
// A step then takes, from its first packet to its signals,
//
//   L = copy_start + M + sync
//
// where, with an additional wait per peer and step from the third step on if stagings are used alternately,
//
//           queues      copies      signals     M, the time that bytes move
//   pcpy    P           P           P           B / min(rate, link)
//   bcst    ceil(P/2)   ceil(P/2)   ceil(P/2)   B / min(broadcast_rate / 2, link)
//   b2b     1           P           1           max((P-1) copy_issue + B / min(rate, link),
//                                                   P B / min(rate, links of copies_in_flight peers))
//
// `link` is a link of the mesh, or a port divided by P, or a whole port for b2b. Steps follow each other after
//
//   R = max(L, G, (Q + flag + wake + L) / 2)
//
// whose last term is for stagings used alternately: from the end of the GEMMs of a step to the end of those of the
// second step after it. The own rows take O (0 if they are part of the steps) while the first step travels. Together
//
//   T = U + max(fetch + L, launch + O) + (S-1) R + G
//
// b2b saves most of U and has the longest L, bcst is in between: both are for pieces whose M is small compared with
// copy_start and sync. On mi300x-8, 8 steps: broadcasts up to about 64 KiB, back to back up to about 16 KiB.
//
// Not included: pieces of several packets, several links between two GPUs, and the slowdown of GEMMs and copies by each
// other.
#pragma once

#include <cstdint>

#include "cortado/machine.hpp"

#include "plan/ficco.hpp"

namespace cortado::plan {

/// The exchange of a rank, if all its steps were like this one.
struct StepLoad {
  std::uint32_t peers = 1;
  std::uint32_t steps = 1;
  Bytes piece{};            ///< to each of them
  bool in_turn = false;     ///< whether stagings are used alternately
  bool same = false;        ///< the same bytes for all peers, without gaps
  double step_kernels = 0;  ///< G, in ns
  double products = 0;      ///< Q, in ns
  double own_kernels = 0;   ///< O, in ns
};

/// T in ns; not for `automatic`.
double exchange_time(ExchangeVariant variant, const StepLoad& load, const Timing& timing);

/// The one with the least time; plain copies if no other saves more than 1 %, which is the accuracy of the estimate,
/// and on machines without timing or with software engines, which have other costs.
ExchangeVariant fastest_exchange(const StepLoad& load, const Machine& machine);

}  // namespace cortado::plan
