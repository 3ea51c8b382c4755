// What run and simulate take: a program file, or a collective that is planned on the spot.
#pragma once

#include <optional>
#include <string>

#include "cortado/base/result.hpp"
#include "cortado/plan/collective.hpp"

#include "plan_options.hpp"
#include "program_input.hpp"

namespace cortado::cli {

struct Task {
  ProgramInput input;
  std::optional<CollectiveRequest> request;  ///< none: from a file
};

/// `what` is a file ("-" = standard input) or the name of a collective; flags that describe a collective are refused
/// beside a file.
Result<Task> load_task(const std::string& what, const std::optional<std::string>& machine, const PlanOptions& plan);

/// One line that says what it is. The program may have been moved out of the task.
std::string title(const Task& task, const Program& program);

}  // namespace cortado::cli
