// cortado completion: a script for bash or zsh, from the tables of commands and flags.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "command.hpp"
#include "flags.hpp"

namespace cortado::cli {
namespace {

constexpr Example kCompletionExamples[] = {
    {"cortado completion bash > cortado.bash", "then source it: . ./cortado.bash, for example in ~/.bashrc"},
    {"cortado completion zsh > _cortado", "put the file in a folder that is in $fpath"}};

/// Represents paths among the words of a place.
constexpr std::string_view kFiles = "@file";

std::string words_of(const Flag& flag, std::string_view accepts) {
  if (accepts == "file") return std::string(kFiles);
  std::string words = join(known_values(accepts), " ");
  // Machines, models, sweeps and what is run may also be files.
  const bool files = accepts == "@machines" || accepts == "@models" || accepts == "@studies";
  if (files || (flag.commands == "run" && flag.is_argument())) words += fmt::format(" {}", kFiles);
  return words;
}

/// "machine @machines;program file": what is accepted after each first argument; otherwise after any.
std::vector<std::pair<std::string, std::string>> by_first_argument(const Flag& flag) {
  if (flag.accepts.find(';') == std::string_view::npos) return {{"*", std::string(flag.accepts)}};
  std::vector<std::pair<std::string, std::string>> all;
  for (const std::string& part : split(flag.accepts, ';')) {
    const std::size_t space = part.find(' ');
    all.emplace_back(part.substr(0, space), part.substr(space + 1));
  }
  return all;
}

/// The lines of a case statement: "plan:--variant:*) known='...' ;;" for flags with values, "plan:0:*)" for arguments
/// by position, "show:1:model)" for those that depend on the first, "plan:-:*)" for all flags.
std::string cases() {
  std::string text;
  for (const Subcommand& command : commands()) {
    std::vector<std::string> names{"--help"};
    std::size_t position = 0;
    for (const Flag* flag : flags_of(command.name)) {
      if (flag->is_argument()) {
        for (const auto& [first, accepts] : by_first_argument(*flag)) {
          text += fmt::format("    {}:{}:{}) known='{}' ;;\n", command.name, position, first, words_of(*flag, accepts));
        }
        ++position;
        continue;
      }
      for (const std::string& name : split(flag->name, ',')) {
        names.push_back(name);
        if (flag->is_switch()) continue;
        text += fmt::format("    {}:{}:*) known='{}'; list={} ;;\n", command.name, name, words_of(*flag, flag->accepts),
                            flag->is_list() || flag->value == "TARGETS" ? 1 : 0);
      }
    }
    text += fmt::format("    {}:-:*) known='{}' ;;\n", command.name, join(names, " "));
  }
  return text;
}

/// Both shells call it with the words before the cursor; it sets known and list.
std::string lookup() {
  std::vector<std::string> names{"--help", "--version"};
  for (const Subcommand& command : commands()) names.emplace_back(command.name);
  return fmt::format(
      R"(# What may stand at this place: $1 is the command, $2 a flag that wants a value, the position of an argument, or - for
# flags, $3 the first argument. Sets known, and list=1 where several may be separated by commas.
_cortado_words() {{
  known='' list=0
  case "$1:$2:$3" in
    :*) known='{}' ;;
{}  esac
}}

# Sets verb, place and first by the words before the cursor.
_cortado_place() {{
  verb=${{1-}} place=0 first=''
  [ $# -gt 0 ] && shift
  local word waiting=''
  for word in "$@"; do
    if [ -n "$waiting" ]; then
      waiting=''
      continue
    fi
    case $word in
      -*=*) ;;
      -*) case " $valued " in *" $word "*) waiting=$word ;; esac ;;
      *)
        [ "$place" = 0 ] && first=$word
        place=$((place + 1))
        ;;
    esac
  done
  [ -n "$waiting" ] && place=$waiting
}}
)",
      join(names, " "), cases());
}

std::string valued_flags() {
  std::vector<std::string> names;
  for (const Flag& flag : all_flags()) {
    if (flag.is_argument() || flag.is_switch()) continue;
    for (std::string& name : split(flag.name, ',')) {
      if (std::ranges::count(names, name) == 0) names.push_back(std::move(name));
    }
  }
  return join(names, " ");
}

constexpr std::string_view kBash = R"(
_cortado() {
  local current=${COMP_WORDS[COMP_CWORD]} known list verb place first prefix=''
  local valued='{}'
  _cortado_place "${COMP_WORDS[@]:1:COMP_CWORD-1}"
  case $current in -*) [ "$place" = "${place#-}" ] && [ -n "$verb" ] && place=- ;; esac
  _cortado_words "$verb" "$place" "$first"
  if [ "$list" = 1 ]; then
    case $current in *,*) prefix=${current%,*},; current=${current##*,} ;; esac
  fi
  COMPREPLY=($(compgen -P "$prefix" -W "${known/@file/}" -- "$current"))
  case $known in *@file*) COMPREPLY+=($(compgen -f -- "$current")) ;; esac
}
complete -o filenames -F _cortado cortado
)";

constexpr std::string_view kZsh = R"(
_cortado() {
  local current=${words[CURRENT]} known list verb place first
  local valued='{}'
  _cortado_place "${(@)words[2,CURRENT-1]}"
  case $current in -*) [ "$place" = "${place#-}" ] && [ -n "$verb" ] && place=- ;; esac
  _cortado_words "$verb" "$place" "$first"
  [ "$list" = 1 ] && compset -P '*,'
  local -a offered=(${=known/@file/})
  compadd -- $offered
  case $known in *@file*) _files ;; esac
}
if [ "$funcstack[1]" = _cortado ]; then _cortado "$@"; else compdef _cortado cortado; fi
)";

Result<Exit> run_completion(const Arguments& arguments, Console& console) {
  const bool bash = arguments.text("shell") == "bash";
  std::string script(bash ? kBash : kZsh);
  script.replace(script.find("{}"), 2, valued_flags());
  const std::string head = bash ? "# Completion of cortado for bash.\n" : "#compdef cortado\n";
  console.out(head + lookup() + script);
  return Exit::ok;
}

}  // namespace

constinit const Subcommand kCompletionCommand{
    "completion", "Print a shell script that completes commands, flags and names", kCompletionExamples, run_completion};

}  // namespace cortado::cli
