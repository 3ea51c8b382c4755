// One command line, as typed after "cortado".
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "console.hpp"

namespace cortado::cli {

/// Mistakes are printed and give Exit::usage.
Exit run_command_line(Console& console, const std::vector<std::string>& arguments);

/// For platforms where a throw cannot be caught and ends the program: reports the error, and returns the exit code.
using OnThrow = std::function<int(const std::exception& thrown)>;

/// In force until the next call. Only WebAssembly has it (wasi/throw.cpp).
void on_throw(OnThrow handler);

}  // namespace cortado::cli
