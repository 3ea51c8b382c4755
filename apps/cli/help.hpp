// --help, from the tables of commands and flags.
#pragma once

#include <string>

#include "command.hpp"

namespace cortado::cli {

std::string help_text();
std::string help_text(const Subcommand& command);

}  // namespace cortado::cli
