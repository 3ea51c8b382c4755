// Planners outside of Cortado: executables that read a request as JSON and print a program as JSON.
//
// A request names what is to be done and carries a program to complete: the caller's buffers and the contract. A
// planner adds queues, signals and scratch buffers behind them. What it prints is proved like any other program,
// against the contract of the request.
#pragma once

#include <string>
#include <string_view>

#include "cortado/collective.hpp"

#include "base/json.hpp"

namespace cortado::plan {

/// A program with the caller's buffers and the contract of `reference`, and nothing else.
Program specification(const Program& reference);

/// {"collective": "all-gather", "bytes": 65536, ...}
Json describe_request(const CollectiveRequest& request);

/// What the planner makes of the specification. `asked` has what the request says besides the machine and the program.
/// Fails as run_process and parse_program do, and if the program is for something else (planner.program).
Result<Program> complete_program(const std::string& planner, const Json& asked, const Program& specification,
                                 const Machine& machine);

/// Of a variant "planner:PATH".
Result<Program> plan_externally(const CollectiveRequest& request, const Machine& machine);

}  // namespace cortado::plan
