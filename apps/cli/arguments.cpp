#include "arguments.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "flags.hpp"

namespace cortado::cli {
namespace {

/// Decimal digits, optionally followed by k or M: no sign, no 0x, no overflow.
Status check_number(const Flag& flag, const NumberRange& range, const std::string& text) {
  const auto value = parse_count(text);
  if (value && *value >= range.least && *value <= range.most) return {};
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  const bool large = value ? *value > range.most : digits;
  return fail("usage.number", fmt::format("{} cannot be {}", flag.long_name(), text),
              large ? "the value is too large; use a smaller whole number"
                    : fmt::format("use a whole number of at least {}{}", range.least,
                                  flag.accepts.starts_with("number64") ? ", such as 8192 or 8k" : ""));
}

/// The alternatives of the first requirement that does not hold; empty if all hold.
std::vector<std::string> missing_modes(const Flag& flag, const std::vector<std::string_view>& active) {
  for (const std::string& requirement : split(flag.modes, ' ')) {
    std::vector<std::string> modes = split(requirement, '|');
    if (std::ranges::none_of(modes, [&](const std::string& mode) { return std::ranges::count(active, mode) > 0; })) {
      return modes;
    }
  }
  return {};
}

}  // namespace

Status Arguments::set(const Flag& flag, std::vector<std::string> values) {
  for (const std::string& text : values) {
    if (const auto range = number_range(flag)) CORTADO_RETURN_IF_ERROR(check_number(flag, *range, text));
    if (flag.is_list() && std::ranges::count(split_names(text), "") > 0) {
      return fail("usage.value", fmt::format("{} has an empty name: '{}'", flag.long_name(), text),
                  "separate names by single commas, or leave the flag out");
    }
    if (!is_closed(flag)) continue;
    const std::vector<std::string> known = known_values(flag);
    if (std::ranges::count(known, text) > 0) continue;
    return fail(
        "usage.value",
        flag.is_argument() ? fmt::format("'{}' is not a known value", text)
                           : fmt::format("{} {} is not a known value", flag.long_name(), text),
        did_you_mean(text, known) + (nearest_name(text, known).empty() ? "" : " ") + "use " + alternatives(known));
  }
  values_[std::string(flag.long_name())] = std::move(values);
  return {};
}

std::string Arguments::key(std::string_view flag) const {
  if (const Flag* found = find_flag(command_, flag)) return std::string(found->long_name());
  const auto named = [&](const Flag& one) { return has_part(one.name, ',', flag); };
  CORTADO_CHECK(std::ranges::any_of(all_flags(), named), "the flag is in the table");
  return std::string(flag);
}

std::optional<std::string> Arguments::find(std::string_view flag) const {
  const auto found = values_.find(key(flag));
  if (found == values_.end()) return {};
  return found->second.empty() ? "" : found->second.front();
}

std::string Arguments::text(std::string_view flag) const {
  if (auto value = find(flag)) return *std::move(value);
  const Flag* known = find_flag(command_, flag);
  return known ? std::string(known->initial) : "";
}

std::vector<std::string> Arguments::names(std::string_view flag) const {
  return split_names(text(flag));
}

std::vector<std::string> Arguments::all(std::string_view flag) const {
  const auto found = values_.find(key(flag));
  return found == values_.end() ? std::vector<std::string>{} : found->second;
}

Result<std::string> Arguments::required(std::string_view argument) const {
  if (auto value = find(argument)) return *std::move(value);
  const Flag* flag = find_flag(command_, argument);
  const std::string name = flag->is_argument() ? split(split(flag->value, '[').back(), ']').front()
                                               : fmt::format("{} {}", flag->long_name(), flag->value);
  return fail("usage.argument", fmt::format("{} is required", name), fmt::format("see cortado {} --help", command_));
}

Result<std::optional<double>> Arguments::watts(std::string_view flag) const {
  const auto text = find(flag);
  if (!text) return std::nullopt;
  const auto value = parse_number<double>(*text);
  if (value && std::isfinite(*value)) return value;
  return fail("usage.watts", fmt::format("{} {} is not a power in watts", flag, *text),
              fmt::format("use a number, for example {} 600", flag));
}

Result<Bytes> Arguments::bytes(std::string_view flag) const {
  const std::string size = text(flag);
  if (size.empty() && !given(flag)) {
    return fail("usage.bytes", "the size of the collective's whole buffer is missing",
                fmt::format("pass {0}, for example {0} 1MiB", flag));
  }
  return parse_bytes(size);
}

std::optional<std::uint64_t> Arguments::number64(std::string_view flag) const {
  const std::string value = text(flag);
  return value.empty() ? std::nullopt : parse_count(value);
}

Status Arguments::check(const std::vector<std::string_view>& modes) const {
  for (const Flag* flag : flags_of(command_)) {
    if (!given(flag->long_name())) continue;
    const std::vector<std::string> missing = missing_modes(*flag, modes);
    if (missing.empty()) continue;
    std::vector<std::string> what;
    std::vector<std::string> how;
    for (const std::string& mode : missing) {
      what.emplace_back(mode_of(mode).what);
      how.emplace_back(mode_of(mode).how);
    }
    if (flag->is_argument()) {
      return fail("usage.argument", fmt::format("cortado {} does not accept '{}'", command_, text(flag->name)),
                  fmt::format("see cortado {} --help", command_));
    }
    return fail("usage.option", fmt::format("{} only applies to {}", flag->long_name(), alternatives(what)),
                fmt::format("leave it out, or {}", join(how, ", or ")));
  }
  return {};
}

std::vector<std::string> split_names(std::string_view text) {
  std::vector<std::string> names;
  for (const std::string& name : split(text, ',')) {
    const std::size_t first = std::min(name.find_first_not_of(' '), name.size());
    names.push_back(name.substr(first, name.find_last_not_of(' ') + 1 - first));
  }
  if (names.empty()) names.emplace_back();
  return names;
}

}  // namespace cortado::cli
