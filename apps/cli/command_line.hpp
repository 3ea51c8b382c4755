// One command line, as typed behind "cortado".
#pragma once

#include <string>
#include <vector>

#include "console.hpp"

namespace cortado::cli {

/// What is wrong with it is printed and becomes Exit::usage.
Exit run_command_line(Console& console, const std::vector<std::string>& arguments);

}  // namespace cortado::cli
