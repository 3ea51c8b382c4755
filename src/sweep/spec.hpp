// What a sweep asks, as a TOML file says it:
//
//   question = "overlap"                       # a command: overlap, bench, model, kv, serve-sim or power
//   filters = ["m >= k"]                       # SQL expressions over axes; a point needs all of them
//   labels = ["layer"]                         # axes that only tell points apart, such as the layers of a model
//
//   [fixed]                                    # flags of the command that are the same at all points
//   collective = "all-gather"
//   gemm = "{m}x3584x{k}"                      # {axis}: its value at the point
//
//   [axes]                                     # every combination of their values is a point
//   m = { powers = [4096, 65536] }             # doubled, or times `factor`, both ends included
//   k = { from = 1024, to = 8192, step = 1024 }
//   bytes = { sizes = "1KiB:1MiB" }            # as --sizes takes them
//   gemm = { file = "shapes.txt" }             # one value a line; # begins a comment
//   machine = ["mi300x-8", "h100-8"]
//   "links.rate_GBps" = [32, 46, 64]           # a field of the machine's file
//
//   [[zip]]                                    # axes that go together, value by value
//   m = [1024, 2048]
//   n = [2048, 1024]
//
//   [[zip]]                                    # or the layers of models (model_axes.hpp)
//   models = ["llama-3.1-8b"]
//   tp = 8
//   tokens = [2048, 8192]
//
//   [keep]
//   tables = ["rows", "skipped"]               # of the answer; the first one if not given
//   columns = ["strategy", "time_us"]          # of these; all if not given
//
//   [rank]                                     # what best means; if not given, the question says it
//   table = "policies"
//   label = "policy"                           # column that names a row
//   column = "time_us"                         # that decides; `greatest = true`: more is better
//   within = "bytes"                           # column: only rows with the same value in it compete
//   score = "tokens_per_s"                     # whose mean over points is shown
//   condition = "policy <> 'none'"             # SQL: rows that can be chosen
//                                              # within, condition: those of the question, if not given for its table
//
// An axis is a flag, a field of a machine, a name that a text refers to in braces, or a label.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cortado/result.hpp"

namespace cortado::sweep {

/// Where in a file something stands, for errors.
inline Place in_file(std::string file, std::uint32_t line = 0, std::string key = {}) {
  Place place;
  place.file = std::move(file);
  place.line = line;
  place.key = std::move(key);
  return place;
}

/// Of an axis or a flag: a number, or text. Switches are "true" and "false", lists have commas.
using Value = std::variant<std::int64_t, double, std::string>;

/// 8192, 0.5, all-gather: what stands behind a flag. Numbers read back to the same value.
std::string text_of(const Value& value);

/// Name and text, as flags take them.
struct Parameter {
  std::string name;
  std::string text;

  bool operator==(const Parameter&) const = default;
};

struct Axis {
  std::string name;
  std::vector<Value> values;
  std::uint32_t line = 0;  ///< of the file
};

/// Axes that go together: as many values each. One axis, or those of a zip.
struct AxisGroup {
  std::vector<Axis> axes;

  std::size_t size() const { return axes.front().values.size(); }
};

/// How the rows of an answer compare.
struct Ranking {
  std::string table = "rows";
  std::string label;        ///< column that names a row: "strategy"
  std::string column;       ///< that decides
  bool greatest = false;    ///< more is better
  std::string within{};     ///< column: of a point, rows with the same value in it compete; empty: all of its rows
  std::string condition{};  ///< SQL: rows that can be chosen; empty: all
  std::string score;        ///< column that is worth a mean over points: "speedup"
};

struct Spec {
  std::string file;
  std::string text;
  std::string question;
  std::vector<Parameter> fixed;
  std::vector<AxisGroup> groups;  ///< in the order of the file; the last one changes fastest
  std::vector<std::string> filters;
  std::vector<std::string> labels;   ///< axes that no parameter has
  std::vector<std::string> tables;   ///< that are kept; empty: the first
  std::vector<std::string> columns;  ///< of them; empty: all
  std::optional<Ranking> ranking;    ///< none: that of the question

  std::vector<const Axis*> axes() const;  ///< of all groups
  /// Of the GEMM of the groups, before filters; at most 2^63.
  std::uint64_t size() const;
  /// Of the point at this place of the GEMM, one for each of axes().
  std::vector<Value> values_at(std::uint64_t place) const;
};

/// Refuses what is no TOML, unknown keys, and axes that are empty, given twice, or have values that are no numbers or
/// texts (sweep.spec, sweep.axis). Files of values are relative to the spec's folder.
Result<Spec> parse_spec(const std::string& text, const std::string& file);
/// A .toml file, or the name of a shipped study (study_names).
Result<Spec> load_spec(const std::string& name_or_path);
std::vector<std::string> study_names();

/// As SQL compares names of columns: in lower case, of ASCII only.
std::string folded(std::string_view name);

/// The names in braces: "{m}x3584x{k}" has m and k.
std::vector<std::string> names_in_braces(std::string_view text);

/// With {name} replaced by what `value_of` gives.
template <class ValueOf>
std::string with_names_replaced(std::string_view text, const ValueOf& value_of) {
  std::string out;
  while (!text.empty()) {
    const std::size_t open = text.find('{');
    const std::size_t close = open == std::string_view::npos ? open : text.find('}', open);
    if (close == std::string_view::npos) break;
    out.append(text.substr(0, open));
    out.append(value_of(text.substr(open + 1, close - open - 1)));
    text.remove_prefix(close + 1);
  }
  return out.append(text);
}

/// What is asked at a point whose axes have these values: the fixed parameters, and the axes that are parameters or
/// fields of the machine.
std::vector<Parameter> parameters_at(const Spec& spec, const std::vector<std::string>& values,
                                     const std::vector<std::string>& known);

/// Fields of a machine have a point in their names, parameters have none.
bool is_machine_field(std::string_view name);

}  // namespace cortado::sweep
