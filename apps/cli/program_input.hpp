// A program file with the machine it is for, as verify, run and packets take it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/program.hpp"
#include "cortado/result.hpp"

namespace cortado::cli {

struct ProgramInput {
  Program program;
  Machine machine;
};

/// Reads the file ("-" = standard input) and the machine named by the user or by the program.
Result<ProgramInput> read_program(const std::string& path, const std::optional<std::string>& machine);

/// Refuses codes that are not rules of the verifier.
Status check_rule_codes(const std::vector<std::string>& codes);

}  // namespace cortado::cli
