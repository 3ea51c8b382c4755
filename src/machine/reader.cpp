#include "machine/reader.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"

namespace cortado::internal {
namespace {

/// The keys of an entry with a source.
constexpr std::array<std::string_view, 3> kOfEntry{"confidence", "source", "value"};
constexpr std::array<std::string_view, 5> kConfidences{"A", "B", "C", "D", "assumption"};

std::uint32_t line_of(const toml::node& node) {
  return node.source().begin.line;
}

/// The value as it would appear in a file, for messages and provenance.
std::string shown(const toml::node& value) {
  if (value.is_table()) return "a table";
  if (value.is_array()) return "a list";
  if (value.is_floating_point()) return fmt::format("{}", value.as_floating_point()->get());
  const auto* whole = value.as_integer();
  if (whole != nullptr && whole->flags() == toml::value_flags::none) return std::to_string(whole->get());
  std::ostringstream out;
  value.visit([&out](const auto& leaf) {
    if constexpr (toml::is_value<decltype(leaf)>) out << leaf;
  });
  std::string text = out.str();
  constexpr std::size_t kLongest = 60;
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

/// The section of a path, empty if none, and the key within it.
std::pair<std::string_view, std::string_view> split(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  if (dot == std::string_view::npos) return {std::string_view{}, path};
  return {path.substr(0, dot), path.substr(dot + 1)};
}

}  // namespace

const toml::node* MachineReader::node(std::string_view path) const {
  const auto [section, key] = split(path);
  if (section.empty()) return root_.get(key);
  const toml::node* table = node(section);
  return table != nullptr && table->is_table() ? table->as_table()->get(key) : nullptr;
}

const toml::node* MachineReader::required(std::string_view path) {
  const auto [section, key] = split(path);
  for (std::string_view above = section; !above.empty(); above = split(above).first) know(above);
  know(path);
  if (const toml::node* found = node(path)) return found;
  const toml::node* table = section.empty() ? nullptr : node(section);
  if (table != nullptr && !table->is_table()) {
    refuse_at(line_of(*table), section, "machine.type", fmt::format("must be a table, [{}]", section), {});
  } else if (table == nullptr && !section.empty()) {
    refuse_at(0, path, "machine.missing", fmt::format("the section [{}] is missing", section),
              fmt::format("add [{}] with {}", section, key));
  } else {
    refuse_at(table == nullptr ? 0 : line_of(*table), path, "machine.missing", "the key is missing",
              fmt::format("add {} = {{ value = ..., source = \"...\", confidence = \"A\" }}", key));
  }
  return nullptr;
}

std::optional<std::string> MachineReader::note(const toml::table& entry, std::string_view path, std::string_view key) {
  const toml::node* found = entry.get(key);
  const std::string* text = found != nullptr && found->is_string() ? &found->as_string()->get() : nullptr;
  if (text != nullptr && !text->empty()) return *text;
  refuse_at(
      line_of(found != nullptr ? *found : entry), fmt::format("{}.{}", path, key), "machine.source",
      found == nullptr ? fmt::format("the value has no {}", key) : fmt::format("{} must be a non-empty string", key),
      key == "source" ? "say where the number comes from; \"idealised\" if you chose it yourself"
                      : "use one of A, B, C, D, assumption");
  return std::nullopt;
}

const toml::node* MachineReader::sourced(std::string_view path) {
  const toml::node* found = required(path);
  if (found == nullptr) return nullptr;
  if (!found->is_table()) {
    refuse(path, "machine.source", fmt::format("is {}, without a source", shown(*found)),
           "write { value = ..., source = \"...\", confidence = \"A\" }");
    return nullptr;
  }
  const toml::table& entry = *found->as_table();
  known_.find(path)->second = true;
  const auto source = note(entry, path, "source");
  const auto confidence = note(entry, path, "confidence");
  if (confidence && std::find(kConfidences.begin(), kConfidences.end(), *confidence) == kConfidences.end()) {
    refuse_at(line_of(*entry.get("confidence")), fmt::format("{}.confidence", path), "machine.source",
              fmt::format("\"{}\" is not a confidence", *confidence),
              "use one of A (vendor), B (measured), C (third party), D (derived), assumption");
  }
  const toml::node* value = entry.get("value");
  if (value == nullptr) {
    refuse(path, "machine.missing", "the entry has no value", "add value = ...");
    return nullptr;
  }
  provenance_.push_back({std::string(path), shown(*value), source.value_or(""), confidence.value_or("")});
  return value;
}

template <class T>
const T* MachineReader::leaf(const toml::node* node, std::string_view path, std::string_view wanted) {
  if (node == nullptr) return nullptr;
  if (const auto* value = node->as<T>()) return &value->get();
  wrong_type(path, *node, wanted);
  return nullptr;
}

const std::string* MachineReader::word(const toml::node* node, std::string_view path) {
  constexpr std::string_view kWanted = "a non-empty string";
  const std::string* text = leaf<std::string>(node, path, kWanted);
  if (text == nullptr || !text->empty()) return text;
  wrong_type(path, *node, kWanted);
  return nullptr;
}

void MachineReader::text(std::string_view key, std::string& value) {
  const std::string path = at(key);
  if (const std::string* found = word(required(path), path)) value = *found;
}

void MachineReader::field(std::string_view key, std::string& value) {
  const std::string path = at(key);
  const std::string* found = word(sourced(path), path);
  if (found == nullptr) return;
  value = *found;
  set_value(value);
}

void MachineReader::field(std::string_view key, bool& value) {
  const std::string path = at(key);
  if (const bool* found = leaf<bool>(sourced(path), path, "true or false")) value = *found;
}

void MachineReader::field(std::string_view key, std::uint64_t& value, std::uint64_t min, std::uint64_t max) {
  value = min;
  const std::string path = at(key);
  const std::int64_t* number = leaf<std::int64_t>(sourced(path), path, "a whole number");
  if (number == nullptr) return;
  set_value(std::to_string(*number));
  if (*number < 0 || static_cast<std::uint64_t>(*number) < min || static_cast<std::uint64_t>(*number) > max) {
    refuse(path, "machine.range", fmt::format("is {}", *number), fmt::format("use a number from {} to {}", min, max));
    return;
  }
  value = static_cast<std::uint64_t>(*number);
}

std::size_t MachineReader::word_of(std::string_view key, const std::vector<std::string>& words) {
  std::string word;
  field(key, word);
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end()) {
    refuse(at(key), "machine.range", fmt::format("is \"{}\"", word),
           fmt::format("use {} or {}", fmt::join(words.begin(), words.end() - 1, ", "), words.back()));
  }
  return static_cast<std::size_t>(found - words.begin());
}

bool MachineReader::given(bool, std::initializer_list<std::string_view> keys) {
  bool any = false;
  for (const std::string_view key : keys) any = has(at(key)) || any;
  return any;
}

void MachineReader::same_length(std::string_view key, std::size_t count, std::string_view other, std::size_t others) {
  if (!ok() || (count == others && count > 0)) return;
  refuse(at(key), "machine.contradiction", fmt::format("has {} rates for {} values of {}", count, others, at(other)),
         "provide one rate for each, and at least one");
}

std::vector<std::int64_t> MachineReader::integers(const toml::node& value, std::string_view path, std::int64_t min,
                                                  std::int64_t max) {
  constexpr std::string_view kWanted = "a list of whole numbers";
  std::vector<std::int64_t> numbers;
  if (!value.is_array()) {
    wrong_type(path, value, kWanted);
    return numbers;
  }
  for (const toml::node& item : *value.as_array()) {
    const std::int64_t* number = leaf<std::int64_t>(&item, path, kWanted);
    if (number == nullptr) return {};
    if (*number < min || *number > max) {
      refuse_at(line_of(item), path, "machine.range", fmt::format("has {}", *number),
                fmt::format("use numbers from {} to {}", min, max));
      return {};
    }
    numbers.push_back(*number);
  }
  return numbers;
}

std::vector<std::int64_t> MachineReader::list(std::string_view path, std::int64_t min, std::int64_t max) {
  const toml::node* value = sourced(path);
  if (value == nullptr) return {};
  std::vector<std::int64_t> numbers = integers(*value, path, min, max);
  set_value(fmt::format("{}", numbers));
  return numbers;
}

std::vector<Row> MachineReader::rows(const toml::node& value, std::string_view path, std::int64_t min,
                                     std::int64_t max) {
  std::vector<Row> all;
  std::vector<std::string> texts;
  for (const toml::node& row : *value.as_array()) {
    all.push_back({line_of(row), integers(row, path, min, max)});
    texts.push_back(fmt::format("{}", all.back().numbers));
  }
  set_value(fmt::format("[{}]", join(texts)));
  return all;
}

std::vector<Row> MachineReader::square(std::string_view path, std::size_t gpus, std::int64_t min, std::int64_t max,
                                       std::string_view none) {
  const toml::node* value = sourced(path);
  if (value == nullptr) return {};
  if (!value->is_array()) {
    wrong_type(path, *value, "a list of lists of whole numbers");
    return {};
  }
  const std::size_t errors = errors_.size();
  std::vector<Row> table = rows(*value, path, min, max);
  if (errors_.size() > errors) return {};
  const std::string shape = fmt::format("use one row per source GPU and one column per destination GPU, {}", none);
  if (table.size() != gpus) {
    refuse(path, "machine.contradiction", fmt::format("has {} rows for {} GPUs", table.size(), gpus), shape);
    return {};
  }
  for (std::size_t src = 0; src < gpus; ++src) {
    if (table[src].numbers.size() == gpus) continue;
    refuse_at(table[src].line, path, "machine.contradiction",
              fmt::format("row {} has {} columns for {} GPUs", src, table[src].numbers.size(), gpus), shape);
    return {};
  }
  return table;
}

WordOrLists MachineReader::word_or_lists(std::string_view path, std::span<const std::string_view> words,
                                         std::int64_t min, std::int64_t max) {
  const toml::node* value = sourced(path);
  if (value == nullptr) return {words.front(), {}};
  if (value->is_array()) return {{}, rows(*value, path, min, max)};
  const std::string* text = value->is_string() ? &value->as_string()->get() : nullptr;
  const auto found = text == nullptr ? words.end() : std::find(words.begin(), words.end(), *text);
  if (found != words.end()) {
    set_value(std::string(*found));
    return {*found, {}};
  }
  wrong_type(path, *value, fmt::format("\"{}\" or a list of lists of whole numbers", fmt::join(words, "\", \"")));
  return {words.front(), {}};
}

void MachineReader::field(std::string_view key, double& value, double min, double max) {
  value = min;
  const std::string path = at(key);
  const toml::node* found = sourced(path);
  if (found == nullptr) return;
  // Whole numbers that a double cannot represent exactly are reported as out of range, not as the wrong type.
  const toml::value<std::int64_t>* whole = found->as_integer();
  const std::optional<double> number = whole != nullptr ? static_cast<double>(whole->get()) : found->value<double>();
  if (!found->is_number() || !number) {
    wrong_type(path, *found, "a number");
    return;
  }
  if (!(*number >= min && *number <= max)) {  // also true for NaN
    refuse(path, "machine.range", fmt::format("is {}", shown(*found)),
           fmt::format("use a number from {} to {}", min, max));
    return;
  }
  value = *number;
}

void MachineReader::field(std::string_view key, Nanoseconds& value) {
  constexpr double kLongest = 1e9;
  double number = 0;
  field(key, number, 1, kLongest);
  value = {std::llround(number)};
}

void MachineReader::microseconds(std::string_view key, Nanoseconds& value, double min, double max) {
  double number = 0;
  field(key, number, min, max);
  value = {std::llround(number * 1e3)};
}

void MachineReader::field(std::string_view key, std::vector<double>& values, double min, double max) {
  values.clear();
  const std::string path = at(key);
  const toml::node* found = sourced(path);
  if (found == nullptr) return;
  if (!found->is_array()) {
    wrong_type(path, *found, "a list of numbers");
    return;
  }
  std::vector<std::string> texts;
  for (const toml::node& item : *found->as_array()) {
    const std::optional<double> number = item.value<double>();
    if (!item.is_number() || !number) {
      wrong_type(path, item, "a list of numbers");
      return;
    }
    if (!(*number >= min && *number <= max)) {  // also true for NaN
      refuse_at(line_of(item), path, "machine.range", fmt::format("has {}", shown(item)),
                fmt::format("use numbers from {} to {}", min, max));
      return;
    }
    values.push_back(*number);
    texts.push_back(shown(item));
  }
  set_value(fmt::format("[{}]", join(texts)));
}

void MachineReader::wrong_type(std::string_view path, const toml::node& value, std::string_view wanted) {
  refuse_at(line_of(value), path, "machine.type", fmt::format("is {}, not {}", shown(value), wanted),
            fmt::format("use {}", wanted));
}

bool MachineReader::has_exactly_if(std::string_view path, bool wanted, std::string_view why_not) {
  const bool given = has(path);
  if (given && !wanted) {
    refuse(path, "machine.contradiction", fmt::format("is given, but {}", why_not), "leave it out");
  }
  return given || wanted;
}

void MachineReader::refuse(std::string_view path, std::string code, std::string message, std::string hint) {
  const toml::node* found = node(path);
  refuse_at(found == nullptr ? 0 : line_of(*found), path, std::move(code), std::move(message), std::move(hint));
}

void MachineReader::refuse_at(std::uint32_t line, std::string_view path, std::string code, std::string message,
                              std::string hint) {
  Place place;
  place.file = machine_.file;
  place.line = line;
  place.key = path;
  errors_.push_back({std::move(code), std::move(message), std::move(hint), std::move(place)});
}

void MachineReader::find_unknown(const toml::table& table, const std::string& prefix, bool is_entry) {
  for (const auto& [key, child] : table) {
    const bool of_entry = is_entry && std::ranges::find(kOfEntry, key.str()) != kOfEntry.end();
    if (of_entry && !child.is_table()) continue;
    const std::string path = prefix + std::string(key.str());
    const auto known = known_.find(path);
    if (!of_entry && known == known_.end()) {
      std::vector<std::string> candidates;
      if (is_entry) candidates.assign(kOfEntry.begin(), kOfEntry.end());
      for (const auto& [name, entry] : known_) {
        if (name.starts_with(prefix) && name.find('.', prefix.size()) == std::string::npos) {
          candidates.push_back(name.substr(prefix.size()));
        }
      }
      refuse_at(key.source().begin.line, path, "machine.key", "unknown key",
                did_you_mean(key.str(), candidates, "known keys: " + join(candidates)));
    } else if (child.is_table()) {
      find_unknown(*child.as_table(), path + ".", known != known_.end() && known->second);
    }
  }
}

Status MachineReader::finish() {
  // A misspelt key is also a missing one; the misspelling says more, so it is reported first.
  std::vector<Diagnostic> others = std::move(errors_);
  errors_.clear();
  find_unknown(root_, "", false);
  std::stable_sort(errors_.begin(), errors_.end(),
                   [](const Diagnostic& a, const Diagnostic& b) { return a.place.line < b.place.line; });
  errors_.insert(errors_.end(), others.begin(), others.end());
  if (errors_.empty()) return {};
  return fail(errors_.front());
}

}  // namespace cortado::internal
