// The input of run: a program file, a collective, or a GEMM and a collective that are planned on the spot.
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

/// From the argument `what`. Refuses anything that is neither a collective nor a file.
Result<TaskKind> task_kind(const Arguments& arguments);

struct Task {
  Program program;
  Machine machine;
  std::string title;                               ///< one line that describes it
  std::optional<bool> in_place{};                  ///< of a collective
  std::optional<ArbitrationPolicy> arbitration{};  ///< of the memory, under which it is simulated
};

/// run --on soft,sim: a program, or several variants and sizes of a collective, on the device and on the simulator.
Result<Exit> run_both(const Arguments& arguments, TaskKind kind, const std::string& device, Console& console);

Outcome<Task> load_task(const Arguments& arguments, TaskKind kind, Console& console);

}  // namespace cortado::cli
