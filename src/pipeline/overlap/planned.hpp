// The programs of a study: each is proved once, when it is first run.
#pragma once

#include <optional>
#include <utility>

#include "cortado/plan.hpp"
#include "cortado/program.hpp"
#include "cortado/target.hpp"

namespace cortado::pipeline {

/// A program that is proved when it is first run; then the proof owns it.
class ProvedOnce {
 public:
  explicit ProvedOnce(Result<Program> program) : program_(std::move(program)) {}

  const Outcome<VerifiedProgram>& proof(const Machine& machine) {
    if (!proof_) proof_ = prove(std::move(program_), machine);
    return *proof_;
  }
  /// Only if it was planned, and not refused.
  const Program& program() const { return proof_ ? (*proof_)->program() : *program_; }

 private:
  Result<Program> program_;
  std::optional<Outcome<VerifiedProgram>> proof_;
};

/// A strategy as it was planned.
struct Planned {
  explicit Planned(PlannedOverlap made) : overlap(std::move(made)), program(std::move(overlap.program)) {}

  PlannedOverlap overlap;  // without the program
  ProvedOnce program;

  PlannedOverlap with_program() const {
    PlannedOverlap whole = overlap;
    whole.program = program.program();
    return whole;
  }
};

/// All GEMMs of a rank in sequence, each alone on all compute units, without launches, for the rank for which
/// that takes longest.
double seconds_of_gemms(const Program& program, const Machine& machine);

}  // namespace cortado::pipeline
