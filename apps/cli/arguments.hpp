// The arguments and flags of a command, by their names in the table of flags.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cortado/result.hpp"

namespace cortado::cli {

struct Flag;

class Arguments {
 public:
  explicit Arguments(std::string_view command) : command_(command) {}

  std::string_view command() const { return command_; }
  /// As they were given, the command first.
  const std::vector<std::string>& words() const { return words_; }
  void set_words(std::vector<std::string> words) { words_ = std::move(words); }

  /// Refuses values that the flag does not accept.
  Status set(const Flag& flag, std::vector<std::string> values);

  bool given(std::string_view flag) const { return values_.contains(key(flag)); }
  std::string text(std::string_view flag) const;                 ///< as given, or the default
  std::optional<std::string> find(std::string_view flag) const;  ///< none if not given
  std::string or_empty(std::string_view flag) const { return find(flag).value_or(""); }
  std::vector<std::string> names(std::string_view flag) const;  ///< of text(), separated by commas, at least one
  std::vector<std::string> all(std::string_view flag) const;    ///< of a flag that may be repeated
  Result<std::string> required(std::string_view argument) const;
  Result<Bytes> bytes(std::string_view flag) const;                  ///< fails if there are none (usage.bytes)
  Result<std::optional<double>> watts(std::string_view flag) const;  ///< none if not given (usage.watts)

  /// As given, or the default; none if there is neither.
  template <class Number = std::uint32_t>
  std::optional<Number> number(std::string_view flag) const {
    const auto value = number64(flag);
    return value ? std::optional(static_cast<Number>(*value)) : std::nullopt;
  }

  /// Refuses the first flag that has no meaning in these modes.
  Status check(const std::vector<std::string_view>& modes) const;

 private:
  std::string key(std::string_view flag) const;  // long name; the flag must be in the table
  std::optional<std::uint64_t> number64(std::string_view flag) const;

  std::string_view command_;
  std::vector<std::string> words_;
  std::map<std::string, std::vector<std::string>> values_;
};

/// "a, b" -> a, b; at least one name, which may be empty.
std::vector<std::string> split_names(std::string_view text);

}  // namespace cortado::cli
