// Flags that describe a GEMM and a collective together: the same in plan overlap, run overlap, overlap and power.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cortado/result.hpp"

#include "arguments.hpp"
#include "console.hpp"
#include "plan/overlap.hpp"

namespace cortado::cli {

/// "overlap", "independent" or "dependent", and the families of --strategy whose flags are not ignored.
std::vector<std::string_view> overlap_modes(const Arguments& arguments);

Relation relation_of(const Arguments& arguments, const std::string& collective);

/// From --gemm, which is required, and --dtype. Whether a machine supports it is not checked here.
Result<GemmShape> gemm_of(const Arguments& arguments);

/// --planner, or --strategy.
std::string asked_strategy(const Arguments& arguments);

/// Reads the file of --tokens.
Result<OverlapProblem> overlap_problem(const Arguments& arguments, const std::string& collective,
                                       const Machine& machine);

Result<StrategyKnobs> strategy_knobs(const Arguments& arguments);

/// For every command that writes the program: a file has no place for the policy of the memory under which it was
/// planned, which may not be that of the machine.
void tell_policy(std::optional<ArbitrationPolicy> planned, const Machine& machine, Console& console);

}  // namespace cortado::cli
