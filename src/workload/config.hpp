// The fields of a config.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cortado/result.hpp"

#include "base/json.hpp"

namespace cortado::workload {

Place place_of(std::string file, std::string_view key);

/// Reads fields and remembers the first error.
class Config {
 public:
  Config(Json json, std::string file) : json_(std::move(json)), file_(std::move(file)) {}

  bool present(std::string_view key) const { return json_.contains(key); }  ///< it may be null
  bool has(std::string_view key) const;                                     ///< present and not null
  std::string text(std::string_view key);
  std::uint64_t number(std::string_view key);  ///< at least 1
  std::uint64_t number_or(std::string_view key, std::uint64_t fallback);
  bool flag_or(std::string_view key, bool fallback);
  std::vector<std::string> texts(std::string_view key);           ///< empty if there are none
  std::vector<std::uint64_t> numbers(std::string_view key);       ///< empty if there are none
  std::optional<Config> inner(std::string_view key) const;        ///< an object
  void refuse(std::string_view key, const std::string& message);  ///< keeps the first error

  const std::string& file() const { return file_; }
  const std::optional<Diagnostic>& mistake() const { return mistake_; }

 private:
  const Json* find(std::string_view key) const;  // nullptr: missing or null

  Json json_;
  std::string file_;
  std::optional<Diagnostic> mistake_;
};

}  // namespace cortado::workload
