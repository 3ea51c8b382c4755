// All arguments and flags of the command line, as data. Parsing, --help, completion and the refusal of flags that would
// be ignored all read this table.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cortado::cli {

inline constexpr std::string_view kDefaultMachine = "mi300x-8";

struct Flag {
  std::string_view commands;  ///< that have it, separated by spaces
  std::string_view name;      ///< "--bytes", "-o,--output"; an argument has no dashes
  /// What follows it in --help; empty: a switch. NAMES: names separated by commas. Ending in "...": may be
  /// repeated. In brackets: an optional argument, or a flag with an optional value.
  std::string_view value;
  /// Empty: any text. "a|b": one of these. "@machines": names of a list, for completion. "file": a path, for
  /// completion. "model @models;program file": by the command's first argument, for completion. "number 1": a whole
  /// number of at least 1 that fits into 32 bits, "number64 1": 64 bits.
  std::string_view accepts;
  std::string_view initial;  ///< default; empty: none, or described by the meaning
  /// In which the flag has a meaning; empty: in all. "sim": in that mode. "alone|independent": in either.
  /// "overlap dependent": if both hold.
  std::string_view modes;
  std::string_view meaning;

  bool is_argument() const { return !name.starts_with('-'); }
  bool is_switch() const { return value.empty(); }
  bool is_list() const { return value == "NAMES"; }
  bool is_repeated() const { return value.ends_with("..."); }
  bool is_optional() const { return value.starts_with('['); }
  std::string_view long_name() const;  ///< "--output" of "-o,--output"
};

/// A way to use a command.
struct Mode {
  std::string_view name;
  std::string_view what;  ///< "--seed is for devices"
  std::string_view how;   ///< how to select it: "give --on soft"
};

std::span<const Flag> all_flags();
std::vector<const Flag*> flags_of(std::string_view command);  ///< in the order of --help
/// By its name, long or short; nullptr if the command has none.
const Flag* find_flag(std::string_view command, std::string_view name);
const Mode& mode_of(std::string_view name);

/// Whether split() would return this part.
bool has_part(std::string_view text, char separator, std::string_view part);

/// The whole numbers that a flag accepts; none if it accepts something else.
struct NumberRange {
  std::uint64_t least = 0;
  std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
};
std::optional<NumberRange> number_range(const Flag& flag);

/// The known values of a flag: choices, or the names of its list.
std::vector<std::string> known_values(const Flag& flag);
std::vector<std::string> known_values(std::string_view accepts);

/// "a, b or c"
std::string alternatives(const std::vector<std::string>& names);
bool is_closed(const Flag& flag);  ///< accepts only the known values

}  // namespace cortado::cli
