// Reads sourced values, { value = ..., source = "...", confidence = "..." }, out of a machine file.
//
// The reader collects what is wrong instead of stopping, so that the code that names the keys stays a plain list; the
// first finding is the answer of finish(). A getter whose value is wrong returns a value that is safe to go on with.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <toml++/toml.h>

#include "cortado/machine/machine.hpp"

namespace cortado::internal {

/// One row of a list of lists and the line of the file where it stands.
struct Row {
  std::uint32_t line = 0;
  std::vector<std::int64_t> numbers;
};

/// A value that is either a word or one list per row.
struct WordOrLists {
  std::string_view word;  ///< one of the words asked for; empty if lists were given
  std::vector<Row> lists;
};

class MachineReader {
 public:
  MachineReader(const toml::table& root, std::string file) : root_(root), file_(std::move(file)) {}

  /// A plain string without a source, such as the name.
  std::string text(std::string_view path);

  /// Sourced values. Paths have one to three parts: "affinity", "dma.ring_bytes", "power.xcd.idle_W".
  std::uint64_t count(std::string_view path, std::uint64_t min, std::uint64_t max);
  Bytes bytes(std::string_view path, std::uint64_t min, std::uint64_t max) { return {count(path, min, max)}; }
  std::uint32_t small(std::string_view path, std::uint32_t min, std::uint32_t max) {
    return static_cast<std::uint32_t>(count(path, min, max));
  }
  bool flag(std::string_view path);
  std::string label(std::string_view path);
  std::vector<std::int64_t> list(std::string_view path, std::int64_t min, std::int64_t max);
  WordOrLists word_or_lists(std::string_view path, std::span<const std::string_view> words, std::int64_t min,
                            std::int64_t max);
  /// A table with a row for each source GPU and a column for each destination GPU; empty if it was refused.
  std::vector<Row> square(std::string_view path, std::size_t gpus, std::int64_t min, std::int64_t max,
                          std::string_view none);
  /// Whole or decimal; neither NaN nor infinite.
  double number(std::string_view path, double min, double max);
  std::vector<double> numbers(std::string_view path, double min, double max);
  /// At least 1 ns; fractions of a nanosecond are rounded.
  Nanoseconds time(std::string_view path);
  GBps rate(std::string_view path);
  std::vector<GBps> rates(std::string_view path);

  /// Whether a key that may be left out is there.
  bool has(std::string_view path) {
    known_.emplace(path);
    return node(path) != nullptr;
  }
  /// Whether to read a key that must be there exactly if the machine has what it speaks of; refuses it elsewhere.
  bool has_exactly_if(std::string_view path, bool wanted, std::string_view why_not);
  bool ok() const { return errors_.empty(); }

  /// Records an error at a path that was read.
  void refuse(std::string_view path, std::string code, std::string message, std::string hint = {});
  void refuse_at(std::uint32_t line, std::string_view path, std::string code, std::string message, std::string hint);

  /// Success if nothing was refused and the file has no key that was not asked for.
  Status finish();

  std::vector<Provenance> take_provenance() { return std::move(provenance_); }

 private:
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
  void find_unknown(const toml::table& table, const std::string& prefix);

  const toml::table& root_;
  std::string file_;
  std::set<std::string, std::less<>> known_;
  std::vector<Diagnostic> errors_;
  std::vector<Provenance> provenance_;
};

}  // namespace cortado::internal
