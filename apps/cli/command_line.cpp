// Parses a command line by the table of flags, runs the command, and maps every outcome to an exit code.
#include "command_line.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/platform.hpp"
#include "base/text.hpp"
#include "base/uncaught.hpp"
#include "command.hpp"
#include "flags.hpp"

namespace cortado::cli {
namespace {

/// A word of an earlier version, and its replacement.
struct Moved {
  std::string_view command;  ///< empty: any
  std::string_view word;     ///< empty: the command itself
  std::string_view hint;
};

constexpr Moved kMoved[] = {
    {"encode", "", "use cortado packets FILE"},
    {"decode", "", "use cortado packets --decode FILE"},
    {"breakdown", "", "use cortado bench copy --phases --on sim"},
    {"compare", "", "use cortado run WHAT --on soft,sim"},
    {"simulate", "", "use cortado run WHAT --on sim"},
    {"explain", "",
     "use cortado plan COLLECTIVE --bytes SIZE --explain, or cortado overlap COLLECTIVE --gemm MxNxK --explain"},
    {"characterize", "", "use cortado overlap COLLECTIVE --gemm MxNxK --why, or cortado overlap COLLECTIVE --map"},
    {"what-if", "", "use cortado overlap COLLECTIVE --gemm MxNxK --with FEATURES"},
    {"plan", "ficco", "use cortado plan overlap COLLECTIVE --gemm MxNxK --strategy hetero-fused-1d"},
    {"plan", "t3", "use cortado plan overlap COLLECTIVE --gemm MxNxK --strategy t3"},
    {"list", "policies", "use cortado list strategies"},
    {"list", "schedules", "use cortado list strategies"},
    {"list", "systems", "use cortado list strategies"},
    {"list", "devices", "use cortado list targets"},
    {"", "--collective", "name it after the command, as in cortado overlap all-gather"},
    {"", "--schedule", "use --strategy"},
    {"", "--product-first", "use --gemm-first"},
    {"", "--iterations", "use --iters"},
    {"run", "--picture", "use --html"},
    {"sweep", "--picture", "use --html; its charts can be saved as SVG"},
    {"overlap", "--policy", "use --strategy"},
    {"overlap", "--dependent", "leave it out: it is the default unless --independent is given"},
    {"bench", "on", "use --prelaunch"},
    {"bench", "off", "use --no-prelaunch"},
    {"bench", "both", "leave it out: both is the default"},
    {"demo", "--on", "leave it out: the tour runs a fixed list of commands"},
    {"demo", "--bytes", "leave it out: the tour runs a fixed list of commands"},
};

/// What to type instead of a flag or an argument that the command had, or of the command itself.
std::optional<std::string> moved_word(std::string_view command, std::string_view word = {}) {
  const auto* found = std::ranges::find_if(kMoved, [&](const Moved& moved) {
    return moved.word == word && (moved.command == command || moved.command.empty());
  });
  if (found == std::end(kMoved)) return {};
  return std::string(found->hint);
}

constexpr std::string_view kSeeHelp = "see cortado {} --help";

/// CLI11 cuts the words into flags, values and arguments; what they mean is in the table.
struct Parser {
  CLI::App app{"", "cortado"};
  const Subcommand* command = nullptr;  ///< named by the arguments
  CLI::App* sub = nullptr;
  Arguments arguments{""};
  Status status{};  ///< the first value that was not accepted

  explicit Parser(const std::vector<std::string>& words) {
    app.require_subcommand(1);
    app.set_version_flag("--version", "cortado " CORTADO_VERSION);
    app.set_help_flag("-h,--help");
    for (const Subcommand& one : commands()) {
      CLI::App* const made = app.add_subcommand(std::string(one.name));
      if (words.empty() || words.front() != one.name) continue;
      command = &one;
      sub = made;
      arguments = Arguments(one.name);
      for (const Flag* flag : flags_of(one.name)) add(*flag);
    }
  }

  void add(const Flag& flag) {
    if (flag.is_switch()) {
      sub->add_flag_function(std::string(flag.name), [this, &flag](std::int64_t) { set(flag, {}); });
      return;
    }
    const CLI::callback_t store = [this, &flag](const CLI::results_t& values) {
      const bool alone = flag.is_optional() && values == CLI::results_t{""};  // CLI11's form of no value
      set(flag, alone ? CLI::results_t{} : values);
      return true;
    };
    CLI::Option* const option = sub->add_option(std::string(flag.name), store);
    option->type_name(std::string(flag.value));
    if (flag.is_repeated()) option->expected(1)->take_all();
    if (flag.is_optional() && !flag.is_argument()) option->expected(0, 1);
  }

  /// What follows "--", if it is the argument of the command that may be repeated.
  void set_command(const std::vector<std::string>& behind) {
    if (command == nullptr || behind.empty()) return;
    for (const Flag* flag : flags_of(command->name)) {
      if (flag->is_argument() && flag->is_repeated()) set(*flag, behind);
    }
  }

  void set(const Flag& flag, std::vector<std::string> values) {
    const Status accepted = arguments.set(flag, std::move(values));
    if (status) status = accepted;
  }
};

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const Subcommand& command : commands()) names.emplace_back(command.name);
  return names;
}

std::string near(std::string_view wrong, const std::vector<std::string>& candidates) {
  const std::string nearest = nearest_name(wrong, candidates);
  return nearest.empty() ? "" : fmt::format("did you mean {}? ", nearest);
}

Diagnostic unknown_command(const std::string& first) {
  if (const auto now = moved_word(first)) {
    return {"usage.subcommand", fmt::format("the command {} no longer exists", first), *now};
  }
  const bool option = first.starts_with('-');
  return {"usage.subcommand", fmt::format("'{}' is not {} of cortado", first, option ? "an option" : "a command"),
          near(first, option ? std::vector<std::string>{"--version", "--help"} : command_names()) +
              "cortado --help lists them"};
}

/// "--on is a flag of run, bench, overlap; "; empty if no other command has it.
std::string owners(const std::string& flag) {
  std::vector<std::string> names;
  for (const Subcommand& command : commands()) {
    if (find_flag(command.name, flag) != nullptr) names.emplace_back(command.name);
  }
  return names.empty() ? "" : fmt::format("{} is a flag of {}; ", flag, join(names));
}

Diagnostic unknown_word(const Subcommand& command, const std::string& word) {
  const std::string help = fmt::format(fmt::runtime(kSeeHelp), command.name);
  const std::string flag = word.substr(0, word.find('='));
  const bool is_flag = word.starts_with('-');
  const std::string message = is_flag ? fmt::format("cortado {} has no option '{}'", command.name, word)
                                      : fmt::format("cortado {} does not accept '{}'", command.name, word);
  const char* const code = is_flag ? "usage.option" : "usage.argument";
  if (const auto now = moved_word(command.name, flag)) return {code, message, *now};
  if (!is_flag) return {code, message, help};
  std::vector<std::string> known;
  for (const Flag* one : flags_of(command.name)) {
    if (!one->is_argument()) known.emplace_back(one->long_name());
  }
  const std::string elsewhere = owners(flag);
  return {code, message, (elsewhere.empty() ? near(flag, known) : elsewhere) + help};
}

/// A flag without its value: CLI11 would take the next flag as the value.
Status check_values(const Subcommand& command, const std::vector<std::string>& words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const Flag* const flag = words[i].starts_with('-') ? find_flag(command.name, words[i]) : nullptr;
    if (flag == nullptr || flag->is_switch() || flag->is_optional()) continue;
    const bool last = i + 1 == words.size();
    if (!last && (!words[i + 1].starts_with('-') || find_flag(command.name, words[i + 1]) == nullptr)) continue;
    return fail("usage.value", fmt::format("{} needs a value", words[i]),
                fmt::format("use {} {}; see cortado {} --help", words[i], flag->value, command.name));
  }
  return {};
}

/// What CLI11 found wrong, as one Diagnostic.
Diagnostic usage_error(const Parser& parser, const CLI::Error& error, const std::vector<std::string>& words) {
  if (parser.command == nullptr) {
    if (!words.empty()) return unknown_command(words.front());
    return {"usage.subcommand", "no command given",
            fmt::format("use one of {}; cortado demo gives a tour", join(command_names()))};
  }
  // Unknown words come before missing ones: one may be the missing argument under another name.
  if (const auto extras = parser.sub->remaining(true); !extras.empty()) {
    return unknown_word(*parser.command, extras.front());
  }
  return {"usage.argument", error.what(), fmt::format(fmt::runtime(kSeeHelp), parser.command->name)};
}

/// The words before "--" and those after it, if the first one names a command that runs another.
std::pair<std::vector<std::string>, std::vector<std::string>> cut_command(const std::vector<std::string>& words) {
  const auto cut = std::ranges::find(words, "--");
  if (words.empty() || cut == words.end()) return {words, {}};
  const auto flags = flags_of(words.front());
  const bool runs =
      std::ranges::any_of(flags, [](const Flag* flag) { return flag->is_argument() && flag->is_repeated(); });
  if (!runs) return {words, {}};
  return {{words.begin(), cut}, {cut + 1, words.end()}};
}

Result<Exit> run_parsed(const Parser& parser, Console& console) {
  CORTADO_RETURN_IF_ERROR(parser.status);
  for (const Flag* flag : flags_of(parser.command->name)) {
    if (!flag->is_argument()) continue;
    if (!flag->is_optional()) CORTADO_RETURN_IF_ERROR(parser.arguments.required(flag->name));
    const std::string word = parser.arguments.or_empty(flag->name);
    if (!word.empty() && moved_word(parser.command->name, word)) return fail(unknown_word(*parser.command, word));
  }
  return parser.command->run(parser.arguments, console);
}

/// What the words mean if CLI11 stopped: they ask for help or for the version, or they are wrong.
Exit stopped(Console& console, const Parser& parser, const CLI::Error& why, const std::vector<std::string>& words) {
  if (dynamic_cast<const CLI::CallForHelp*>(&why) != nullptr) {
    if (parser.command == nullptr && !words.front().starts_with('-')) {
      console.error(unknown_command(words.front()));
      return Exit::usage;
    }
    console.out(parser.command == nullptr ? help_text() : help_text(*parser.command));
    return Exit::ok;
  }
  if (dynamic_cast<const CLI::CallForVersion*>(&why) != nullptr) {
    console.out(std::string(why.what()) + "\n");
    return Exit::ok;
  }
  console.error(usage_error(parser, why, words));
  return Exit::usage;
}

}  // namespace

Exit run_command_line(Console& console, const std::vector<std::string>& all_words) {
  const auto [words, command] = cut_command(all_words);
  Parser parser(words);
  parser.set_command(command);
  parser.arguments.set_words(all_words);
  if (parser.command != nullptr) {
    if (const Status complete = check_values(*parser.command, words); !complete) {
      console.error(complete.error());
      return Exit::usage;
    }
  }
  std::vector<std::string> reversed(words.rbegin(), words.rend());
#if CORTADO_HOSTED
  try {
    parser.app.parse(reversed);
  } catch (const CLI::Error& why) {
    return stopped(console, parser, why, words);
  }
#else
  on_throw([&, &given = words](const std::exception& thrown) {
    const auto* const why = dynamic_cast<const CLI::Error*>(&thrown);
    if (why != nullptr) return static_cast<int>(stopped(console, parser, *why, given));
    console.error(uncaught(thrown));
    return static_cast<int>(Exit::usage);
  });
  parser.app.parse(reversed);
#endif
  const auto outcome = run_parsed(parser, console);
  if (outcome) return *outcome;
  console.error(outcome.error());
  return Exit::usage;
}

}  // namespace cortado::cli
