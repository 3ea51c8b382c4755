// What run takes: a program file, a collective, or a GEMM and a collective that are planned on the spot.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cortado/machine.hpp"
#include "cortado/result.hpp"
#include "cortado/target.hpp"

#include "arguments.hpp"
#include "console.hpp"
#include "plan/overlap.hpp"

namespace cortado::cli {

enum class TaskKind { file, alone, overlap };

/// By the argument `what`. Refuses what is neither a collective nor a file.
Result<TaskKind> task_kind(const Arguments& arguments);

struct Task {
  Program program;
  Machine machine;
  std::string title;                               ///< one line that says what it is
  std::optional<bool> in_place{};                  ///< of a collective
  std::optional<ArbitrationPolicy> arbitration{};  ///< of the memory, under which it is simulated
};

Outcome<Task> load_task(const Arguments& arguments, TaskKind kind, Console& console);

}  // namespace cortado::cli
