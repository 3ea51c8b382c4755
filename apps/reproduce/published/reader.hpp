// Reading the TOML files of published/.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "base/parse_toml.hpp"
#include "base/text.hpp"
#include "reproduce/published/published.hpp"

namespace cortado::published {

inline Result<toml::table> parse_toml(const std::string& text, const std::string& file) {
  return internal::parse_toml(text, file, "published.syntax");
}

/// Reads keys of one table of the file; remembers the first mistake.
class Reader {
 public:
  Reader(const toml::table& table, std::string where) : table_(table), where_(std::move(where)) {}

  std::string text(const char* key) {
    if (const auto value = table_[key].value<std::string>(); value && !value->empty()) return *value;
    refuse(key, "must be a string");
    return {};
  }

  std::string one_of(const char* key, const std::vector<std::string>& allowed) {
    std::string value = text(key);
    if (!error_ && std::find(allowed.begin(), allowed.end(), value) == allowed.end()) {
      refuse(key, "must be one of " + join(allowed));
    }
    return value;
  }

  std::optional<double> number_if(const char* key) {
    if (!table_.contains(key)) return {};
    const auto value = table_[key].value<double>();
    if (value && std::isfinite(*value)) return value;
    refuse(key, "must be a number");
    return {};
  }

  double number(const char* key) {
    const auto value = number_if(key);
    if (!value) refuse(key, "must be a number");
    return value.value_or(0);
  }

  Bytes size(const char* key) {
    const auto parsed = parse_bytes(text(key));
    if (parsed) return *parsed;
    refuse(key, "must be a size such as \"64KiB\"");
    return {};
  }

  Source source() { return {text("source"), one_of("confidence", {"A", "B", "C", "D", "assumption"})}; }

  UsedFor used_for() {
    return one_of("used_for", {"calibration", "validation"}) == "calibration" ? UsedFor::calibration
                                                                              : UsedFor::validation;
  }

  Errors errors() { return one_of("errors", {"percent", "points"}) == "points" ? Errors::points : Errors::percent; }

  /// A whole number above zero.
  std::uint64_t count(const char* key) {
    const auto value = table_[key].value<std::int64_t>();
    if (value && *value > 0) return static_cast<std::uint64_t>(*value);
    refuse(key, "must be a whole number above zero");
    return 0;
  }

  const toml::array* array(const char* key) {
    const toml::array* found = table_[key].as_array();
    if (found == nullptr) refuse(key, "must be an array");
    return found;
  }

  void refuse(const char* key, const std::string& what) {
    if (error_) return;
    error_ = Diagnostic{"published.value", fmt::format("{}: {} {}", where_, key, what),
                        "see published/README.md for the format"};
  }
  void adopt(const Reader& other) {
    if (!error_) error_ = other.error_;
  }
  const std::optional<Diagnostic>& error() const { return error_; }

 private:
  const toml::table& table_;
  std::string where_;
  std::optional<Diagnostic> error_;
};

/// Every table of an array of tables, read; none if there is no such array.
template <class T>
Result<std::vector<T>> read_tables(const toml::table& root, const char* key, const std::string& file,
                                   Result<T> (*read)(const toml::table&, const std::string& file)) {
  std::vector<T> items;
  const toml::array* all = root[key].as_array();
  if (all == nullptr) return items;
  for (const toml::node& node : *all) {
    if (!node.is_table()) return fail("published.value", fmt::format("{}: {} must be tables", file, key), "");
    CORTADO_ASSIGN_OR_RETURN(items.emplace_back(), read(*node.as_table(), file));
  }
  return items;
}

/// The same for a required array.
template <class T>
Result<std::vector<T>> need_tables(const toml::table& root, const char* key, const std::string& file,
                                   Result<T> (*read)(const toml::table&, const std::string& file)) {
  CORTADO_ASSIGN_OR_RETURN(std::vector<T> items, read_tables(root, key, file, read));
  if (!items.empty()) return items;
  return fail("published.value", fmt::format("{}: there is no [[{}]]", file, key), "add one");
}

/// The file of this name among those of a folder of published/, parsed; `what` is in it.
template <class T>
Result<T> load_from(std::span<const std::pair<std::string_view, std::string_view>> files, const std::string& folder,
                    const std::string& what, const std::string& wanted,
                    Result<T> (*parse)(const std::string& text, const std::string& file)) {
  std::vector<std::string> names;
  for (const auto& [name, text] : files) {
    if (name == wanted) return parse(std::string(text), fmt::format("published/{}{}.toml", folder, name));
    names.emplace_back(name);
  }
  std::ranges::sort(names);
  return fail("published.unknown", fmt::format("'{}' {}", wanted, what), fmt::format("there are {}", join(names)));
}

}  // namespace cortado::published
