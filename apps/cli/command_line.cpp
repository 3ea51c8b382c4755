// Parses a command line, hands over to a subcommand, and maps every outcome to an exit code.
#include "command_line.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cortado/base/text.hpp"

#include "help_format.hpp"
#include "subcommand.hpp"

namespace cortado::cli {
namespace {

constexpr std::string_view kAbout =
    "Plans, proves, runs and predicts programs that move data with GPU DMA engines.\n"
    "Without a GPU they run on the embedded node, which executes the same packet bytes.";

constexpr std::string_view kExitCodes =
    "Exit codes: 0 ok; 1 the checked thing failed (refused, wrong bytes, fault, time-out);\n"
    "2 bad usage, bad input or environment; 130 interrupted.\n"
    "Results go to standard output, everything else to standard error.";

std::string examples_text(const Subcommand& command) {
  std::string text = "Examples:\n";
  for (const Example& example : command.examples()) {
    text += fmt::format("  {}\n      {}\n", example.command, example.meaning);
  }
  text.pop_back();
  return text;
}

struct Parsed {
  CLI::App app{std::string(kAbout), "cortado"};
  std::vector<std::unique_ptr<Subcommand>> commands = make_subcommands();
  std::vector<CLI::App*> apps;  // of the commands, in the same order

  /// Options take most of the time to start: only subcommands that the arguments name have theirs.
  explicit Parsed(const std::vector<std::string>& arguments) {
    app.formatter(std::make_shared<HelpFormat>());
    app.require_subcommand(1);
    app.set_version_flag("--version", "cortado " CORTADO_VERSION, "Show the version");
    app.set_help_flag("-h,--help", "Show this help");
    app.footer(std::string(kExitCodes));
    for (const auto& command : commands) {
      CLI::App* sub = app.add_subcommand(std::string(command->name()), std::string(command->description()));
      if (std::ranges::find(arguments, command->name()) != arguments.end()) {
        command->add_options(*sub);
        sub->footer(examples_text(*command));
      }
      apps.push_back(sub);
    }
  }

  /// The subcommand on the command line, or nullptr.
  const CLI::App* chosen() const {
    const auto given = app.get_subcommands();
    return given.empty() ? nullptr : given.front();
  }

  std::vector<std::string> command_names() const {
    std::vector<std::string> names;
    for (const auto& command : commands) names.emplace_back(command->name());
    return names;
  }
};

std::string did_you_mean(std::string_view wrong, const std::vector<std::string>& candidates) {
  const std::string nearest = nearest_name(wrong, candidates);
  return nearest.empty() ? "" : fmt::format("did you mean {}? ", nearest);
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

Diagnostic unknown_subcommand(const Parsed& parsed, const std::string& first) {
  const bool option = first.starts_with('-');
  return {
      "usage.subcommand", fmt::format("'{}' is not {} of cortado", first, option ? "an option" : "a subcommand"),
      did_you_mean(first, option ? option_names(parsed.app) : parsed.command_names()) + "cortado --help lists them"};
}

/// What CLI11 found wrong, as one Diagnostic.
Diagnostic usage_error(const Parsed& parsed, const CLI::ParseError& error, const std::vector<std::string>& arguments) {
  const CLI::App* app = parsed.chosen();
  if (app == nullptr) {
    if (!arguments.empty()) return unknown_subcommand(parsed, arguments.front());
    return {"usage.subcommand", "no subcommand given",
            fmt::format("one of {}; cortado demo shows what cortado can do", join(parsed.command_names()))};
  }
  const std::string help = fmt::format("see cortado {} --help", app->get_name());
  // What is not known comes before what is missing: it may be the missing thing under another name.
  if (const std::vector<std::string> extras = app->remaining(true); !extras.empty()) {
    const std::string& extra = extras.front();
    if (extra.starts_with('-')) {
      return {"usage.option", fmt::format("cortado {} has no option '{}'", app->get_name(), extra),
              did_you_mean(extra.substr(0, extra.find('=')), option_names(*app)) + help};
    }
    return {"usage.argument", fmt::format("cortado {} does not expect '{}'", app->get_name(), extra), help};
  }
  return {"usage.argument", error.what(), help};
}

}  // namespace

Exit run_command_line(Console& console, const std::vector<std::string>& arguments) {
  Parsed parsed(arguments);
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    parsed.app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    if (parsed.chosen() == nullptr && !arguments.front().starts_with('-')) {
      console.error(unknown_subcommand(parsed, arguments.front()));
      return Exit::usage;
    }
    console.out(parsed.app.help());
    return Exit::ok;
  } catch (const CLI::CallForVersion& version) {
    console.out(std::string(version.what()) + "\n");
    return Exit::ok;
  } catch (const CLI::ParseError& error) {
    console.error(usage_error(parsed, error, arguments));
    return Exit::usage;
  }
  for (std::size_t i = 0; i < parsed.commands.size(); ++i) {
    if (!parsed.apps[i]->parsed()) continue;
    const auto outcome = parsed.commands[i]->run(console);
    if (outcome) return *outcome;
    console.error(outcome.error());
  }
  return Exit::usage;
}

}  // namespace cortado::cli
