// The parts of verify.machine, each in its own file.
#pragma once

#include "cortado/machine.hpp"
#include "cortado/program.hpp"

#include "verify/naming.hpp"
#include "verify/rule.hpp"

namespace cortado::verifier {

/// One packet: its bytes, alignment and features. `place` is that of the command.
void check_packet(const Program& program, const Machine& machine, const Command& command, const Spot& place,
                  Findings& findings);

/// Engines exist, are in silicon, are not overbooked, and reach the memories that their queues touch; compute queues
/// reach theirs, too.
void check_reach(const Program& program, const Machine& machine, Findings& findings);

/// Ranks, memory, compute units and ring space.
void check_capacity(const Program& program, const Machine& machine, Findings& findings);

/// Counters that engines compare stay within their packets' 32 bits.
void check_counters(const Program& program, Findings& findings);

/// Trackers exist in the machine and have enough entries; memory can add where output blocks need it.
void check_trackers(const Program& program, const Machine& machine, Findings& findings);

/// The machine has the packets of several commands, and the doorbells that kernels ring, that the queue uses.
void check_initiative(const Program& program, const Machine& machine, QueueId queue, Findings& findings);

/// Upper bound of the ring space, in bytes, that one iteration of a dma queue takes.
std::uint64_t frame_bytes(const Queue& queue, const DmaLimits& limits, const Features& features = {});

}  // namespace cortado::verifier
