// Simulates a program on the machine it was checked for: when everything happens, and how long it takes.
//
// docs/models.md has the equations. All constants come from the machine file; there are none in the code. The same
// program, machine and options give the same Timeline, bit for bit.
#pragma once

#include <span>

#include "cortado/result.hpp"
#include "cortado/target.hpp"

namespace cortado::sim {

/// Rejects machines that cannot be simulated because their file has no timing (sim.timing).
Status check_timing(const Machine& machine);

/// Rejects machines without timing (sim.timing), an arbitration policy for a machine that does not describe arbitration
/// (sim.arbitration), power management that the machine does not allow (check_power_management), programs with commands
/// that have no model (sim.command), and GEMMs that the machine cannot run (check_gemm). A program that cannot finish,
/// possible only if verifier rules were skipped, ends with sim.stall, which names who waits for what.
Result<Simulated> simulate(const CheckedProgram& program, const SimulateOptions& options = {});

/// Like simulate(), for one iteration of dma queues that no host submits: queue i begins at starts[i].
Result<Simulated> simulate_from(const CheckedProgram& program, std::span<const Nanoseconds> starts,
                                const SimulateOptions& options = {});

}  // namespace cortado::sim
