// cortado run --on soft,sim: a measured run beside the simulated one.
#pragma once

#include <string>

#include "cortado/result.hpp"

#include "arguments.hpp"
#include "console.hpp"
#include "task.hpp"

namespace cortado::cli {

/// A program on the device and on the simulator, or several variants and sizes of a collective.
Result<Exit> run_both(const Arguments& arguments, TaskKind kind, const std::string& device, Console& console);

}  // namespace cortado::cli
