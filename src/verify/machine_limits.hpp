// The parts of verify.machine, one file each.
#pragma once

#include "cortado/machine.hpp"
#include "cortado/program.hpp"

#include "verify/naming.hpp"
#include "verify/rule.hpp"

namespace cortado::verifier {

/// One packet: its bytes, alignment and features. `place` is the command's.
void check_packet(const Program& program, const Machine& machine, const Command& command, const Spot& place,
                  Findings& findings);

/// Engines exist, are in silicon, are not overbooked, and reach what their queues touch; so do compute queues.
void check_reach(const Program& program, const Machine& machine, Findings& findings);

/// Ranks, memory, compute units and ring space.
void check_capacity(const Program& program, const Machine& machine, Findings& findings);

/// Counters that engines compare stay within their packets' 32 bits.
void check_counters(const Program& program, Findings& findings);

/// Trackers exist and have entries enough; memory adds where output blocks do.
void check_trackers(const Program& program, const Machine& machine, Findings& findings);

/// Packets of several commands, and doorbells that kernels ring, are there.
void check_initiative(const Program& program, const Machine& machine, QueueId queue, Findings& findings);

/// Bytes of ring space that one iteration of a dma queue takes at most.
std::uint64_t frame_bytes(const Queue& queue, const DmaLimits& limits, const Features& features = {});

}  // namespace cortado::verifier
