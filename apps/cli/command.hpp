// A command is data: its name, its purpose, examples, and the function that runs it. Its flags are in
// flag_table.cpp. A new one is a new file and one line in the list of commands.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cortado/result.hpp"

#include "arguments.hpp"
#include "console.hpp"

namespace cortado::cli {

/// A line of --help that works when it is typed.
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

// Each is defined in the file of its name.
extern const Subcommand kBenchCommand;
extern const Subcommand kCalibrateCommand;
extern const Subcommand kCompletionCommand;
extern const Subcommand kDemoCommand;
extern const Subcommand kExploreCommand;
extern const Subcommand kKvCommand;
extern const Subcommand kListCommand;
extern const Subcommand kModelCommand;
extern const Subcommand kNodeCommand;
extern const Subcommand kOverlapCommand;
extern const Subcommand kPacketsCommand;
extern const Subcommand kPlanCommand;
extern const Subcommand kPowerCommand;
extern const Subcommand kReproduceCommand;
extern const Subcommand kRunCommand;
extern const Subcommand kServeCommand;
extern const Subcommand kShowCommand;
extern const Subcommand kSweepCommand;
extern const Subcommand kVerifyCommand;

/// All of them, in the order of --help; the last one, completion, is below the list.
std::span<const Subcommand> commands();

/// --help, from the tables of commands and flags.
std::string help_text();
std::string help_text(const Subcommand& command);

// Parts of commands that have their own files.

std::vector<std::string> list_names();                                  ///< the lists of `cortado list`
Result<Exit> bench_gemm(const Arguments& arguments, Console& console);  ///< predicted unless --on names a device
Result<Exit> bench_host_copies(const Arguments& arguments, Console& console);
/// cortado model --on soft: a small model that really runs.
Result<Exit> model_on_device(const Arguments& arguments, Console& console);
/// Of plan and overlap: the table of the one strategy of --strategy with the decisions and their reasons, and its
/// program if -o names a file.
Result<Exit> explain_strategy(const Arguments& arguments, Console& console, const std::string& collective);

}  // namespace cortado::cli
