// A command is data: its name, what it is for, examples, and the function that does it. Its flags are in
// flag_table.cpp. A new one is a new file and one line in the list of commands.cpp.
#pragma once

#include <span>
#include <string_view>

#include "cortado/result.hpp"

#include "arguments.hpp"
#include "console.hpp"

namespace cortado::cli {

/// A line of --help that really works when it is typed.
struct Example {
  std::string_view command;
  std::string_view meaning;
};

struct Subcommand {
  std::string_view name;
  std::string_view summary;  ///< one line
  std::span<const Example> examples;
  /// Checks all arguments, then works. An error is printed by the caller and means Exit::usage.
  Result<Exit> (*run)(const Arguments& arguments, Console& console);
};

/// All of them, in the order of --help; the last one, completion, stands below the list.
std::span<const Subcommand> commands();
const Subcommand* find_command(std::string_view name);

}  // namespace cortado::cli
