// What run, simulate and compare take: a program file, or a collective that is planned on the spot.
#pragma once

#include <optional>
#include <string>

#include "cortado/base/result.hpp"
#include "cortado/plan/collective.hpp"
#include "cortado/target/target.hpp"

#include "console.hpp"
#include "plan_options.hpp"
#include "program_input.hpp"

namespace cortado::cli {

struct Task {
  ProgramInput input;
  std::optional<CollectiveRequest> request;  ///< none: from a file
};

/// Whether `what` names a collective rather than a file ("-" = standard input). Refuses what is neither, and a file
/// beside the flag `given`, which describes a collective; empty if there is none.
Result<bool> names_collective(const std::string& what, const std::string& given);

/// `what` is a file ("-" = standard input) or the name of a collective; flags that describe a collective are refused
/// beside a file.
Result<Task> load_task(const std::string& what, const std::optional<std::string>& machine, const PlanOptions& plan,
                       Console& console);

/// The errors, and for scripts the document {"ok": false, "errors": [...]} of a program that was found wanting; no
/// schema: without it.
Exit task_failure(Console& console, const Failure& failure, const char* schema);

/// One line that says what it is. The program may have been moved out of the task.
std::string title(const Task& task, const Program& program);

/// ", algbw 72.16 GB/s, busbw 63.14 GB/s"; empty if there is no bandwidth to tell.
std::string bandwidth_text(const Run& run);

}  // namespace cortado::cli
