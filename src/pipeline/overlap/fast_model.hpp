// An overlap without its program: one GPU stands for all, and the collective is one flow.
//
// The simulator follows every copy of every GPU; to choose among dozens of ways that is too slow. Here the workgroups
// of the product run as in the simulator (sim/gpu/product.cpp, compute_units.hpp), with the same demands, but beside
// them goes one flow that stands for the whole collective: it takes as long as the collective alone, and what the
// collective takes of links and memory on the average. Where fabric, memory or last-level cache are full, everybody
// gets the same share of its full speed; the collective first uses up what it leaves idle by itself (start-up,
// handshakes, slow engines).
#pragma once

#include "cortado/plan/c3.hpp"

#include "pipeline/overlap/collective_profile.hpp"

namespace cortado::pipeline {

/// Both, this way; the collective alone as profiled.
Nanoseconds estimate_overlap(const GemmShape& shape, const OverlapWay& way, const CollectiveProfile& profile,
                             const Machine& machine);

}  // namespace cortado::pipeline
