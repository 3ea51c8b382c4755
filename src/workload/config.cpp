#include "workload/config.hpp"

#include <fmt/format.h>

namespace cortado::workload {
namespace {

constexpr std::uint64_t kLargest = 1ULL << 40;  // of any field

}  // namespace

Place place_of(std::string file, std::string_view key) {
  Place place;
  place.file = std::move(file);
  place.key = key;
  return place;
}

const Json* Config::find(std::string_view key) const {
  const Json* const found = json_.find(key);
  return found == nullptr || found->is_null() ? nullptr : found;
}

bool Config::has(std::string_view key) const {
  return find(key) != nullptr;
}

void Config::refuse(std::string_view key, const std::string& message) {
  if (mistake_) return;
  mistake_ =
      Diagnostic{"model.field", message, "use a Hugging Face config.json, as it was published", place_of(file_, key)};
}

std::string Config::text(std::string_view key) {
  const Json* value = find(key);
  if (value == nullptr || !value->is_string()) {
    refuse(key, value == nullptr ? fmt::format("{} is missing", key) : fmt::format("{} is not a string", key));
    return {};
  }
  return value->text();
}

std::uint64_t Config::number(std::string_view key) {
  const Json* value = find(key);
  if (value == nullptr) {
    refuse(key, fmt::format("{} is missing", key));
    return 1;
  }
  if (!value->is_number_unsigned() || value->whole() == 0 || value->whole() > kLargest) {
    refuse(key, fmt::format("{} is not a whole number from 1 to 2^40", key));
    return 1;
  }
  return value->whole();
}

std::uint64_t Config::number_or(std::string_view key, std::uint64_t fallback) {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  if (value->is_number_unsigned() && value->whole() == 0) return 0;
  return number(key);
}

bool Config::flag_or(std::string_view key, bool fallback) {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) refuse(key, fmt::format("{} is neither true nor false", key));
  return value->is_boolean() && value->boolean();
}

std::vector<std::string> Config::texts(std::string_view key) {
  std::vector<std::string> all;
  const Json* value = find(key);
  if (value == nullptr) return all;
  if (!value->is_array()) refuse(key, fmt::format("{} is not a list", key));
  for (const Json& item : *value) {
    if (!item.is_string()) {
      refuse(key, fmt::format("{} is not a list of strings", key));
      return {};
    }
    all.push_back(item.text());
  }
  return all;
}

std::vector<std::uint64_t> Config::numbers(std::string_view key) {
  std::vector<std::uint64_t> all;
  const Json* value = find(key);
  if (value == nullptr) return all;
  if (!value->is_array()) refuse(key, fmt::format("{} is not a list", key));
  for (const Json& item : *value) {
    if (!item.is_number_unsigned()) {
      refuse(key, fmt::format("{} is not a list of whole numbers", key));
      return {};
    }
    all.push_back(item.whole());
  }
  return all;
}

std::optional<Config> Config::inner(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr || !value->is_object()) return std::nullopt;
  return Config(*value, file_);
}

}  // namespace cortado::workload
