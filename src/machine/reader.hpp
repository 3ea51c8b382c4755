// Reads sourced values, { value = ..., source = "...", confidence = "..." }, from a machine file.
//
// The reader collects errors instead of stopping, so that the code that names the keys stays a plain list; finish()
// returns the first one. A field with an invalid value gets one that is safe to continue with. Paths have one to three
// parts: "affinity", "dma.ring_bytes", "power.xcd.idle_W".
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "cortado/machine.hpp"

#include "machine/fields.hpp"

namespace cortado::internal {

/// One row of a list of lists and its line in the file.
struct Row {
  std::uint32_t line = 0;
  std::vector<std::int64_t> numbers;
};

/// A value that is either a word or one list per row.
struct WordOrLists {
  std::string_view word;  ///< one of the allowed words; empty if lists were given
  std::vector<Row> lists;
};

class MachineReader {
 public:
  /// Fills the machine; both must outlive the reader.
  MachineReader(const toml::table& root, Machine& machine) : root_(root), machine_(machine) {}

  // The archive of machine/fields.hpp.
  const Machine& machine() const { return machine_; }

  template <class T>
  void section(std::string_view name, T& part) {
    const std::string_view outer = std::exchange(section_, name);
    describe(*this, part);
    section_ = outer;
  }
  template <class T>
  void section(std::string_view name, std::optional<T>& part) {
    if (has(name)) section(name, part.emplace());
  }

  /// A plain string without a source, such as the name.
  void text(std::string_view key, std::string& value);
  void field(std::string_view key, std::uint64_t& value, std::uint64_t min, std::uint64_t max);
  void field(std::string_view key, std::uint32_t& value, std::uint32_t min, std::uint32_t max) {
    std::uint64_t number = 0;
    field(key, number, min, max);
    value = static_cast<std::uint32_t>(number);
  }
  void field(std::string_view key, Bytes& value, std::uint64_t min, std::uint64_t max) {
    field(key, value.value, min, max);
  }
  void field(std::string_view key, bool& value);
  void field(std::string_view key, std::string& value);
  /// Whole or decimal; neither NaN nor infinite.
  void field(std::string_view key, double& value, double min, double max);
  void field(std::string_view key, Nanoseconds& value);  ///< at least 1 ns; fractions of a nanosecond are rounded
  void field(std::string_view key, GBps& value) { field(key, value.value, kSlowest, kFastest); }
  void field(std::string_view key, std::vector<double>& values, double min, double max);
  template <std::unsigned_integral T>
  void field(std::string_view key, std::vector<T>& values, std::int64_t min, std::int64_t max) {
    values.clear();
    for (const std::int64_t number : list(at(key), min, max)) values.push_back(static_cast<T>(number));
  }
  template <class T, class... Limits>
  void field_or(std::string_view key, T& value, const T& fallback, Limits... limits) {
    value = fallback;
    if (has(at(key))) field(key, value, limits...);
  }
  template <class T, class... Limits>
  void field_if(bool wanted, std::string_view why_not, std::string_view key, T& value, Limits... limits) {
    if (has_exactly_if(at(key), wanted, why_not)) field(key, value, limits...);
  }
  void scaled(bool wanted, std::string_view why_not, std::string_view key, double& value, double parts, double min,
              double max) {
    field_if(wanted, why_not, key, value, min, max);
    value /= parts;
  }
  void microseconds(std::string_view key, Nanoseconds& value, double min, double max);
  template <class Words, class T>
  void word(std::string_view key, T& value, const Words& words) {
    std::vector<std::string> names;
    for (const auto& [name, meaning] : words) names.emplace_back(name);
    const std::size_t found = word_of(key, names);
    if (found < words.size()) value = words[found].second;
  }
  /// Whether the file has any of the keys of the section.
  bool given(bool has_value, std::initializer_list<std::string_view> keys);
  void same_length(std::string_view key, std::size_t count, std::string_view other, std::size_t others);

  void engines(Machine& machine);
  void links(Machine& machine);
  void affinity(Machine& machine);
  void timing(std::optional<Timing>& timing);

  /// Whether an optional key is present.
  bool has(std::string_view path) {
    know(path);
    return node(path) != nullptr;
  }
  bool ok() const { return errors_.empty(); }

  /// Records an error at a path that was read.
  void refuse(std::string_view path, std::string code, std::string message, std::string hint = {});
  void refuse_at(std::uint32_t line, std::string_view path, std::string code, std::string message, std::string hint);

  /// Success if nothing was rejected and the file has no unknown keys.
  Status finish();

  std::vector<Provenance> take_provenance() { return std::move(provenance_); }

 private:
  std::string at(std::string_view key) const { return std::string(section_).append(".").append(key); }
  std::vector<std::int64_t> list(std::string_view path, std::int64_t min, std::int64_t max);
  /// The value if it has this type; otherwise nullptr, with an error unless the node is missing.
  template <class T>
  const T* leaf(const toml::node* node, std::string_view path, std::string_view wanted);
  const std::string* word(const toml::node* node, std::string_view path);
  std::size_t word_of(std::string_view key, const std::vector<std::string>& words);
  WordOrLists word_or_lists(std::string_view path, std::span<const std::string_view> words, std::int64_t min,
                            std::int64_t max);
  /// A table with a row for each source GPU and a column for each destination GPU; empty if it was rejected.
  std::vector<Row> square(std::string_view path, std::size_t gpus, std::int64_t min, std::int64_t max,
                          std::string_view none);
  /// Whether to read a key that must be present exactly if the machine has what it describes; rejects it otherwise.
  bool has_exactly_if(std::string_view path, bool wanted, std::string_view why_not);
  void link_listed(const std::vector<Row>& peers);
  void link_counts(std::string_view topology);
  const toml::node* node(std::string_view path) const;
  const toml::node* required(std::string_view path);
  const toml::node* sourced(std::string_view path);
  std::optional<std::string> note(const toml::table& entry, std::string_view path, std::string_view key);
  std::vector<std::int64_t> integers(const toml::node& value, std::string_view path, std::int64_t min,
                                     std::int64_t max);
  std::vector<Row> rows(const toml::node& value, std::string_view path, std::int64_t min, std::int64_t max);
  void wrong_type(std::string_view path, const toml::node& value, std::string_view wanted);
  void set_value(std::string text) {
    if (!provenance_.empty()) provenance_.back().value = std::move(text);
  }
  void know(std::string_view path) {
    if (!known_.contains(path)) known_.emplace(path, false);
  }
  /// `is_entry`: the table is a value with its source.
  void find_unknown(const toml::table& table, const std::string& prefix, bool is_entry);

  const toml::table& root_;
  Machine& machine_;
  std::string_view section_;
  LinkShape shape_ = LinkShape::mesh;
  std::map<std::string, bool, std::less<>> known_;  // paths that may be given; whether they are entries with a source
  std::vector<Diagnostic> errors_;
  std::vector<Provenance> provenance_;
};

}  // namespace cortado::internal
