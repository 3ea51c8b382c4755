#include "sweep_questions.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "arguments.hpp"
#include "base/text.hpp"
#include "flags.hpp"
#include "sweep_studies.hpp"

namespace cortado::cli {
namespace {

using report::Document;

/// Flags for where results go, how they are shown or where they run: they are the same at all points.
constexpr std::string_view kNotSwept[] = {
    "--json", "--csv", "--html",    "--wide",        "--trace-out", "--threads",  "--on", "--why", "--explain",
    "--map",  "--as",  "--machine", "--by-operator", "--planner",   "--no-cache", "--m",  "--n",   "--k"};

/// The name of a flag in a spec, without dashes.
std::string parameter_of(const SweptCommand& swept, const Flag& flag) {
  if (flag.is_argument()) return std::string(flag.name == swept.argument ? swept.parameter : flag.name);
  return std::string(flag.long_name().substr(2));
}

Result<Arguments> arguments_of(const SweptCommand& swept, const std::vector<sweep::Parameter>& parameters) {
  Arguments arguments(swept.command);
  for (const Flag* flag : flags_of(swept.command)) {
    const auto given = std::ranges::find(parameters, parameter_of(swept, *flag), &sweep::Parameter::name);
    if (given == parameters.end() || given->text.empty()) {  // "": not given at this point
      if (flag->is_argument() && !flag->is_optional()) {
        return fail("usage.argument", fmt::format("{} is required", parameter_of(swept, *flag)),
                    fmt::format("set it in [fixed] or [axes]; see cortado {} --help", swept.command));
      }
      continue;
    }
    if (!flag->is_switch()) {
      CORTADO_RETURN_IF_ERROR(arguments.set(*flag, {given->text}));
    } else if (given->text == "true") {
      CORTADO_RETURN_IF_ERROR(arguments.set(*flag, {}));
    } else if (given->text != "false") {
      return fail("usage.value", fmt::format("{} cannot be {}", given->name, given->text), "use true or false");
    }
  }
  return arguments;
}

class CommandAsker : public sweep::Asker {
 public:
  CommandAsker(const SweptCommand& swept, const Machine& machine) : swept_(swept), study_(swept.study(machine)) {}

  Outcome<Document> ask(const std::vector<sweep::Parameter>& parameters) override {
    const auto arguments = arguments_of(swept_, parameters);
    if (!arguments) return fail_at(Stage::plan, arguments.error());
    return study_->ask(*arguments);
  }

 private:
  const SweptCommand& swept_;
  std::unique_ptr<CommandStudy> study_;
};

class CommandQuestion : public sweep::Question {
 public:
  explicit CommandQuestion(const SweptCommand& swept) : swept_(swept) {}

  std::string_view name() const override { return swept_.command; }

  std::vector<std::string> parameters() const override {
    std::vector<std::string> names{"machine"};
    for (const Flag* flag : flags_of(swept_.command)) {
      // Only serve-sim reads a trace, the others write one; --output is a file in some commands and tokens in others.
      const bool traces = flag->long_name() == "--trace" && swept_.command != "serve-sim";
      const bool written = flag->long_name() == "--output" && flag->value == "FILE";
      // The machine of overlap --with is a second one, next to today's.
      const bool second = flag->long_name() == "--with" && swept_.command == "overlap";
      if (!traces && !written && !second && std::ranges::count(kNotSwept, flag->long_name()) == 0) {
        names.push_back(parameter_of(swept_, *flag));
      }
    }
    return names;
  }

  const sweep::Ranking& ranking() const override { return swept_.ranking; }

  Document answer() const override { return swept_.answer(); }

  Status check(const std::vector<sweep::Parameter>& parameters, const Machine& machine) const override {
    CORTADO_ASSIGN_OR_RETURN(const Arguments arguments, arguments_of(swept_, parameters));
    return swept_.check(arguments, machine);
  }

  std::unique_ptr<sweep::Asker> asker(const Machine& machine) const override {
    return std::make_unique<CommandAsker>(swept_, machine);
  }

 private:
  const SweptCommand& swept_;
};

}  // namespace

std::vector<std::string> question_names() {
  std::vector<std::string> names;
  for (const SweptCommand& swept : swept_commands()) names.emplace_back(swept.command);
  return names;
}

Result<std::unique_ptr<sweep::Question>> find_question(const std::string& name) {
  const auto found = std::ranges::find(swept_commands(), name, &SweptCommand::command);
  if (found != swept_commands().end()) return std::make_unique<CommandQuestion>(*found);
  return fail("sweep.question", fmt::format("a sweep cannot run \"{}\"", name),
              suggestion(name, question_names(), "questions: "));
}

}  // namespace cortado::cli
