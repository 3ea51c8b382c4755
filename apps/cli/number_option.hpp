// Options whose value is a whole number. Decimal digits and nothing else: no sign, no 0x, no number that does not fit.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

namespace cortado::cli {

/// The range that the error message names. A number outside it that fits the variable is left to the command, which
/// can say why it makes no sense.
struct NumberRange {
  std::uint64_t least = 0;
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
};

/// Passes a number up to `greatest` to `set`; `initial` is the default that --help shows.
CLI::Option* add_number(CLI::App& app, const std::string& name, const std::string& description, NumberRange range,
                        std::uint64_t greatest, std::function<void(std::uint64_t)> set,
                        std::function<std::string()> initial);

template <std::unsigned_integral Number>
CLI::Option* add_number(CLI::App& app, const std::string& name, Number& value, const std::string& description,
                        NumberRange range = {}) {
  return add_number(
      app, name, description, range, std::numeric_limits<Number>::max(),
      [&value](std::uint64_t number) { value = static_cast<Number>(number); },
      [&value] { return std::to_string(value); });
}

template <std::unsigned_integral Number>
CLI::Option* add_number(CLI::App& app, const std::string& name, std::optional<Number>& value,
                        const std::string& description, NumberRange range = {}) {
  return add_number(
      app, name, description, range, std::numeric_limits<Number>::max(),
      [&value](std::uint64_t number) { value = static_cast<Number>(number); }, [] { return std::string(); });
}

}  // namespace cortado::cli
