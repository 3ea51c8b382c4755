// The pipeline: plan -> verify -> prepare -> run, and what a report says about it.
#pragma once

#include <optional>
#include <string>

#include "cortado/base/result.hpp"
#include "cortado/device/executor.hpp"
#include "cortado/ir/program.hpp"
#include "cortado/machine/machine.hpp"
#include "cortado/pipeline/failure.hpp"
#include "cortado/pipeline/figures.hpp"
#include "cortado/plan/collective.hpp"
#include "cortado/verify/verify.hpp"

namespace cortado::pipeline {

struct RunSettings {
  device::PrepareOptions prepare{};
  device::RunOptions run{};
  std::uint32_t warmup = 0;  ///< unchecked iterations before those of `run`
  OnStage on_stage{};
};

struct RunReport : Figures {
  VerifiedProgram program;
  device::RunResult result;
};

/// Verifies the program for the machine and runs it on the device.
Outcome<RunReport> run_program(Program program, const Machine& machine, device::Driver& driver,
                               const RunSettings& settings);

/// Runs a program that is verified already.
Outcome<RunReport> run_verified(const VerifiedProgram& program, device::Driver& driver, const RunSettings& settings);

/// Plans first.
Outcome<RunReport> run_collective(const CollectiveRequest& request, const Machine& machine, device::Driver& driver,
                                  const RunSettings& settings);

/// A program from a file, or from standard input for "-".
Result<Program> load_program(const std::string& path);

/// The machine named by the user, else the one the program was planned for.
Result<Machine> machine_for(const Program& program, const std::optional<std::string>& name);

}  // namespace cortado::pipeline
