// The pipeline on a modelled machine: plan -> verify -> simulate.
#pragma once

#include "cortado/ir/program.hpp"
#include "cortado/machine/machine.hpp"
#include "cortado/pipeline/failure.hpp"
#include "cortado/pipeline/figures.hpp"
#include "cortado/plan/collective.hpp"
#include "cortado/sim/simulate.hpp"
#include "cortado/verify/verify.hpp"

namespace cortado::pipeline {

struct SimulationReport : Figures {
  CheckedProgram program;
  sim::Simulated simulated;
};

/// Verifies the program for the machine and simulates it there.
Outcome<SimulationReport> simulate_program(Program program, const Machine& machine,
                                           const sim::SimulateOptions& options = {}, const VerifyOptions& verify = {},
                                           const OnStage& on_stage = {});

/// Simulates a program that is checked already.
Outcome<SimulationReport> simulate_verified(const CheckedProgram& program, const sim::SimulateOptions& options = {});

/// As simulate_program, with spans and, on machines with power, watts over time: about 500 samples, none shorter than
/// 100 ns. How long they have to be another simulation tells before.
Outcome<SimulationReport> simulate_traced(Program program, const Machine& machine, sim::SimulateOptions options = {},
                                          const VerifyOptions& verify = {}, const OnStage& on_stage = {});

/// Plans first.
Outcome<SimulationReport> simulate_collective(const CollectiveRequest& request, const Machine& machine,
                                              const sim::SimulateOptions& options = {});

}  // namespace cortado::pipeline
