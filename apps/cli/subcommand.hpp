// A subcommand is an object. A new one is a new file and one line in the list of subcommands.cpp.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "cortado/base/result.hpp"

#include "console.hpp"

namespace cortado::cli {

/// A line of --help that really works when it is typed.
struct Example {
  std::string_view command;
  std::string_view meaning;
};

class Subcommand {
 public:
  Subcommand() = default;
  Subcommand(const Subcommand&) = delete;
  Subcommand& operator=(const Subcommand&) = delete;
  virtual ~Subcommand() = default;

  virtual std::string_view name() const = 0;
  virtual std::string_view description() const = 0;  ///< one line
  virtual std::vector<Example> examples() const = 0;
  virtual void add_options(CLI::App& app) = 0;

  /// Checks all arguments, then works. An error is printed by the caller and means Exit::usage.
  virtual Result<Exit> run(Console& console) = 0;
};

/// All of them, in the order of --help.
std::vector<std::unique_ptr<Subcommand>> make_subcommands();

}  // namespace cortado::cli
