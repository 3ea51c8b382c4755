// Planners outside Cortado: executables that read a request as JSON and print a program as JSON.
//
// A request describes the task and includes a program to complete: the caller's buffers and the contract. A planner
// appends queues, signals and scratch buffers. What it prints is proved like any other program, against the contract of
// the request.
#pragma once

#include <string>
#include <string_view>

#include "cortado/plan.hpp"

#include "base/json.hpp"

namespace cortado::plan {

/// A program with the caller's buffers and the contract of `reference`, and nothing else.
Program specification(const Program& reference);

/// {"collective": "all-gather", "bytes": 65536, ...}
Json describe_request(const CollectiveRequest& request);

/// The planner's completion of the specification. `asked` is the request apart from machine and program. Fails like
/// run_process and parse_program, and if the program is for something else (planner.program).
Result<Program> complete_program(const std::string& planner, const Json& asked, const Program& specification,
                                 const Machine& machine);

/// For a variant "planner:PATH".
Result<Program> plan_externally(const CollectiveRequest& request, const Machine& machine);

}  // namespace cortado::plan
