// --help, from the tables of commands and flags.
#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"
#include "command.hpp"
#include "flags.hpp"
#include "fold.hpp"

namespace cortado::cli {
namespace {

constexpr std::size_t kHelpColumn = 30;

constexpr std::string_view kAbout =
    "Plan, prove, predict and run programs that move data with GPU DMA engines, overlapped with GEMMs.\nNo GPU is "
    "needed: the embedded node executes the same packet bytes in software.\n";

constexpr std::string_view kFooter =
    "cortado COMMAND --help shows the options of a command and examples; cortado completion bash (or zsh) prints a "
    "script\nfor tab completion.\nExit codes: 0 success; 1 the program or check failed (refused, wrong bytes, fault, "
    "time-out);\n2 bad usage, bad input or an environment problem; 130 interrupted.\nResults go to standard "
    "output, everything else to standard error.\n";

/// "  name      text", folded.
std::string entry(const std::string& name, std::string_view text) {
  std::string lines = fmt::format("  {:{}}", name, kHelpColumn - 2);
  if (name.size() + 3 > kHelpColumn) lines += "\n" + std::string(kHelpColumn, ' ');
  return lines + folded(text, kHelpColumn, kHelpColumn) + "\n";
}

std::string entry(const Flag& flag) {
  std::string name(flag.name);
  if (flag.is_argument()) name = split(split(flag.value, '[').back(), ']').front();
  if (!flag.is_argument() && !flag.is_switch()) name += fmt::format(" {}", flag.value);
  std::string text(flag.meaning);
  if (!flag.initial.empty()) text += fmt::format(" (default: {})", flag.initial);
  return entry(name, text);
}

std::string usage(const Subcommand& command) {
  std::string line = fmt::format("Usage: cortado {} [OPTIONS]", command.name);
  for (const Flag* flag : flags_of(command.name)) {
    if (flag->is_argument()) line += fmt::format(" {}", flag->value);
  }
  return line + "\n";
}

std::string section_title(std::string_view modes) {
  std::vector<std::string> all;
  const std::vector<std::string> requirements = split(modes, ' ');
  for (const std::string& requirement : requirements) {
    if (requirement == "overlap" && requirements.size() > 1) continue;  // the others imply it
    std::vector<std::string> any;
    for (const std::string& mode : split(requirement, '|')) any.emplace_back(mode_of(mode).what);
    all.push_back(alternatives(any));
  }
  return fmt::format("For {}:", join(all, ", "));
}

}  // namespace

std::string help_text() {
  std::string text = fmt::format("{}\nUsage: cortado [OPTIONS] COMMAND\n\nOptions:\n", kAbout);
  text += entry("--version", "Show the version") + entry("-h,--help", "Show this help") + "\nCommands:\n";
  for (const Subcommand& command : commands().first(commands().size() - 1)) {
    text += entry(std::string(command.name), command.summary);
  }
  return text + "\n" + std::string(kFooter);
}

std::string help_text(const Subcommand& command) {
  std::string arguments;
  std::string options = entry("-h,--help", "Show this help");
  std::vector<std::pair<std::string_view, std::string>> by_mode;
  for (const Flag* flag : flags_of(command.name)) {
    if (flag->is_argument() || flag->modes.empty()) {
      (flag->is_argument() ? arguments : options) += entry(*flag);
      continue;
    }
    auto section = std::ranges::find_if(by_mode, [&](const auto& one) { return one.first == flag->modes; });
    if (section == by_mode.end()) section = by_mode.insert(section, {flag->modes, ""});
    section->second += entry(*flag);
  }
  std::string text = fmt::format("{}\n\n{}\n", command.summary, usage(command));
  if (!arguments.empty()) text += fmt::format("Arguments:\n{}\n", arguments);
  text += fmt::format("Options:\n{}\n", options);
  for (const auto& [modes, entries] : by_mode) text += fmt::format("{}\n{}\n", section_title(modes), entries);
  text += "Examples:\n";
  for (const Example& example : command.examples) {
    text += fmt::format("  {}\n      {}\n", folded_command(example.command, 4, 2), folded(example.meaning, 6, 6));
  }
  return text;
}

}  // namespace cortado::cli
