// Proves a program correct before it runs. Only verify() makes a VerifiedProgram, and only a VerifiedProgram
// can run. A simulation takes any CheckedProgram: comparing candidates and parts of programs needs no proof.
//
// Two consecutive iterations are checked together, because programs are replayed without a barrier (program.hpp).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/program.hpp"
#include "cortado/result.hpp"

namespace cortado {

struct VerifyOptions {
  /// Codes of rules to skip, e.g. "verify.race"; for programs proved elsewhere. The CheckedProgram records which rules
  /// were skipped.
  std::vector<std::string> skip_rules{};
  /// Stop collecting after this many errors of one rule.
  std::size_t max_errors_per_rule = 8;
};

struct RuleInfo {
  std::string_view code;  ///< "verify.bounds"
  std::string_view summary;
};

/// All rules in the order in which they run. A rule that depends on earlier ones (deadlock needs known ids) does not
/// run if they fail.
std::vector<RuleInfo> verify_rules();

/// A program that passed all rules except the skipped ones, with the machine it was checked for. Cheap to copy;
/// immutable.
class CheckedProgram {
 public:
  const Program& program() const { return *program_; }
  const Machine& machine() const { return *machine_; }
  const std::vector<std::string>& skipped_rules() const { return skipped_rules_; }

 private:
  friend Expected<CheckedProgram, std::vector<Diagnostic>> check_program(Program, const Machine&, const VerifyOptions&);
  friend CheckedProgram unproved(Program, const Machine&);
  CheckedProgram(std::shared_ptr<const Program> program, std::shared_ptr<const Machine> machine,
                 std::vector<std::string> skipped_rules)
      : program_(std::move(program)), machine_(std::move(machine)), skipped_rules_(std::move(skipped_rules)) {}

  std::shared_ptr<const Program> program_;
  std::shared_ptr<const Machine> machine_;
  std::vector<std::string> skipped_rules_;
};

/// A program that passed all rules.
class VerifiedProgram : public CheckedProgram {
 private:
  friend Expected<VerifiedProgram, std::vector<Diagnostic>> verify(Program, const Machine&);
  friend struct ProofForTesting;  // to test what devices do with programs that the verifier refuses
  explicit VerifiedProgram(CheckedProgram checked) : CheckedProgram(std::move(checked)) {}
};

/// The program with its proof, or every error found (at least one).
Expected<VerifiedProgram, std::vector<Diagnostic>> verify(Program program, const Machine& machine);

/// The program, checked by the rules that were not skipped, or every error found (at least one).
Expected<CheckedProgram, std::vector<Diagnostic>> check_program(Program program, const Machine& machine,
                                                                const VerifyOptions& options);

/// All rules are skipped.
CheckedProgram unproved(Program program, const Machine& machine);

/// How many bytes of all output and inout buffers the contract covers. Output buffers are always covered completely;
/// parts of an inout buffer may belong to the caller alone.
struct OutputCoverage {
  Bytes covered;
  Bytes whole;
};

/// None if verify.contract was skipped.
std::optional<OutputCoverage> output_coverage(const CheckedProgram& checked);

}  // namespace cortado
