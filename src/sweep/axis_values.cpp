#include "sweep/axis_values.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>

#include "base/file.hpp"
#include "base/text.hpp"

namespace cortado::sweep {
namespace {

constexpr SizeLimit kValueFiles{Bytes{256ULL << 20}, "files of values"};
constexpr std::string_view kForms =
    "a list, { from, to, step }, { powers = [FROM, TO] }, { sizes = \"1KiB:1MiB\" } or { file = \"shapes.txt\" }";

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

Value value_of_text(std::string_view text) {
  if (const auto whole = parse_number<std::int64_t>(text)) return *whole;
  if (const auto number = parse_number<double>(text); number && std::isfinite(*number)) return *number;
  return std::string(text);
}

/// The lines that say something.
Result<std::vector<std::string>> lines_of(const std::string& path) {
  CORTADO_ASSIGN_OR_RETURN(const std::string text, read_file(path, kValueFiles));
  std::vector<std::string> lines;
  for (const std::string& line : split(text, '\n')) {
    const std::string_view said = trimmed(std::string_view(line).substr(0, line.find('#')));
    if (!said.empty()) lines.emplace_back(said);
  }
  if (lines.empty()) {
    return fail({"sweep.axis", "the file has no values", "write one value per line", in_file(path)});
  }
  return lines;
}

std::string in_folder(const std::string& folder, const std::string& path) {
  return (std::filesystem::path(folder) / path).string();
}

/// One form of an axis: the keys of its table.
class Form {
 public:
  Form(const toml::table& table, Place place) : table_(table), place_(std::move(place)) {}

  bool has(std::string_view key) const { return table_.contains(key); }

  Status only(std::initializer_list<std::string_view> keys) const {
    for (const auto& [key, node] : table_) {
      if (std::ranges::count(keys, key.str()) > 0) continue;
      std::vector<std::string> known(keys.begin(), keys.end());
      return refuse(fmt::format("{} is not part of such an axis", key.str()), suggestion(key.str(), known));
    }
    return {};
  }

  Result<std::string> text(std::string_view key) const {
    if (const auto value = table_[key].value<std::string>()) return *value;
    return refuse(fmt::format("{} is not a string", key), std::string(kForms));
  }

  Result<Value> number(std::string_view key, const toml::node* node) const {
    if (node != nullptr && node->is_integer()) return Value{node->as_integer()->get()};
    if (node != nullptr && node->is_floating_point()) {
      if (const double value = node->as_floating_point()->get(); std::isfinite(value)) return Value{value};
    }
    return refuse(fmt::format("{} is not a number", key), std::string(kForms));
  }
  Result<Value> number(std::string_view key) const { return number(key, table_.get(key)); }

  Unexpected<Diagnostic> refuse(std::string message, std::string hint) const {
    return fail({"sweep.axis", std::move(message), std::move(hint), place_});
  }

  Result<std::vector<Value>> steps() const {
    CORTADO_RETURN_IF_ERROR(only({"from", "to", "step"}));
    CORTADO_ASSIGN_OR_RETURN(const Value from, number("from"));
    CORTADO_ASSIGN_OR_RETURN(const Value to, number("to"));
    CORTADO_ASSIGN_OR_RETURN(const Value step, number("step"));
    const double count = std::floor((real(to) - real(from)) / real(step) * (1 + 1e-12)) + 1;
    if (!(real(step) > 0) || !(count >= 1)) {
      return refuse(fmt::format("no values from {} to {} in steps of {}", text_of(from), text_of(to), text_of(step)),
                    "steps must be above 0, and `to` must not be below `from`");
    }
    return numbered(count, from, [&](double i) { return real(from) + i * real(step); }, {from, step});
  }

  Result<std::vector<Value>> powers() const {
    CORTADO_RETURN_IF_ERROR(only({"powers", "factor"}));
    const toml::array* ends = table_["powers"].as_array();
    if (ends == nullptr || ends->size() != 2) return refuse("powers is not [FROM, TO]", std::string(kForms));
    CORTADO_ASSIGN_OR_RETURN(const Value from, number("powers", ends->get(0)));
    CORTADO_ASSIGN_OR_RETURN(const Value to, number("powers", ends->get(1)));
    Value factor{std::int64_t{2}};
    if (has("factor")) {
      CORTADO_ASSIGN_OR_RETURN(factor, number("factor"));
    }
    if (!(real(from) > 0) || !(real(factor) > 1) || real(to) < real(from)) {
      return refuse(fmt::format("no values from {} to {}, each {} times the one before", text_of(from), text_of(to),
                                text_of(factor)),
                    "FROM must be above 0, TO must not be below it, and the factor must be above 1");
    }
    const double count = std::floor(std::log(real(to) / real(from)) / std::log(real(factor)) + 1e-9) + 1;
    return numbered(count, from, [&](double i) { return real(from) * std::pow(real(factor), i); }, {from, factor});
  }

 private:
  static double real(const Value& value) {
    const auto* whole = std::get_if<std::int64_t>(&value);
    return whole ? static_cast<double>(*whole) : std::get<double>(value);
  }

  /// Whole numbers if all that they are made of is whole.
  template <class At>
  Result<std::vector<Value>> numbered(double count, const Value&, const At& at,
                                      std::initializer_list<Value> parts) const {
    constexpr double kExact = 9007199254740992.0;  // 2^53
    if (count > static_cast<double>(kMostValues)) {
      return refuse(fmt::format("{:.0f} values", count), fmt::format("an axis can have at most {}", kMostValues));
    }
    const bool whole = std::ranges::all_of(parts, [](const Value& one) { return one.index() == 0; });
    std::vector<Value> values;
    for (double i = 0; i < count; ++i) {
      const double number = at(i);
      if (whole && std::abs(number) > kExact) return refuse("values above 2^53", "write them as a list");
      values.push_back(whole ? Value{static_cast<std::int64_t>(std::llround(number))} : Value{number});
    }
    return values;
  }

  const toml::table& table_;
  Place place_;
};

/// As --sizes takes them.
Result<std::vector<Value>> of_sizes(const Form& form) {
  CORTADO_RETURN_IF_ERROR(form.only({"sizes"}));
  CORTADO_ASSIGN_OR_RETURN(const std::string text, form.text("sizes"));
  const auto sizes = parse_sizes(text);
  if (!sizes) return form.refuse(sizes.error().message, sizes.error().hint);
  std::vector<Value> values;
  for (const Bytes size : *sizes) values.emplace_back(static_cast<std::int64_t>(size.value));
  return values;
}

}  // namespace

std::optional<Value> value_of(const toml::node& node) {
  if (const auto* text = node.as_string()) return Value{text->get()};
  if (const auto* whole = node.as_integer()) return Value{whole->get()};
  if (const auto* flag = node.as_boolean()) return Value{std::string(flag->get() ? "true" : "false")};
  if (const auto* number = node.as_floating_point()) {
    return std::isfinite(number->get()) ? std::optional<Value>(number->get()) : std::nullopt;
  }
  const toml::array* const list = node.as_array();
  if (list == nullptr || list->empty()) return std::nullopt;
  std::vector<std::string> parts;
  for (const toml::node& one : *list) {
    const auto part = one.is_array() ? std::nullopt : value_of(one);
    if (!part) return std::nullopt;
    parts.push_back(text_of(*part));
  }
  return Value{join(parts, ",")};
}

Place place_in(const std::string& file, const toml::node& node, const std::string& key) {
  return in_file(file, node.source().begin.line, key);
}

Result<std::vector<Value>> axis_values(const toml::node& node, const std::string& name, const std::string& file,
                                       const std::string& folder) {
  const Place place = place_in(file, node, name);
  if (const toml::table* const table = node.as_table()) {
    const Form form(*table, place);
    if (form.has("from") || form.has("to") || form.has("step")) return form.steps();
    if (form.has("powers")) return form.powers();
    if (form.has("sizes")) return of_sizes(form);
    if (form.has("file")) {
      CORTADO_RETURN_IF_ERROR(form.only({"file"}));
      CORTADO_ASSIGN_OR_RETURN(const std::string path, form.text("file"));
      CORTADO_ASSIGN_OR_RETURN(const std::vector<std::string> lines, lines_of(in_folder(folder, path)));
      std::vector<Value> values;
      for (const std::string& line : lines) values.push_back(value_of_text(line));
      return values;
    }
    return form.refuse("the axis does not define its values", fmt::format("use {}", kForms));
  }
  const toml::array* const list = node.as_array();
  if (list == nullptr) {
    return fail({"sweep.axis", fmt::format("axis {} is not a list", name),
                 fmt::format("use {}; put what is the same at all points in [fixed]", kForms), place});
  }
  if (list->empty()) return fail({"sweep.axis", fmt::format("axis {} is empty", name), "add values", place});
  if (list->size() > kMostValues) {
    return fail({"sweep.axis", fmt::format("{} values", list->size()),
                 fmt::format("an axis can have at most {}", kMostValues), place});
  }
  std::vector<Value> values;
  for (const toml::node& one : *list) {
    const auto value = value_of(one);
    if (!value) {
      return fail({"sweep.axis", fmt::format("axis {} has a value that is not a number, string or list", name),
                   "use numbers, strings, true or false", place_in(file, one, name)});
    }
    values.push_back(*value);
  }
  return values;
}

Result<std::vector<Axis>> axes_of_file(const std::string& path) {
  CORTADO_ASSIGN_OR_RETURN(const std::vector<std::string> lines, lines_of(path));
  std::vector<Axis> axes;
  for (const std::string& name : split(lines.front(), ',')) axes.push_back({std::string(trimmed(name)), {}, 1});
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> cells = split(lines[i], ',');
    if (cells.size() != axes.size()) {
      return fail({"sweep.axis", fmt::format("\"{}\" has {} values for {} axes", lines[i], cells.size(), axes.size()),
                   "put as many values in each line as there are names in the first one", in_file(path)});
    }
    for (std::size_t j = 0; j < cells.size(); ++j) axes[j].values.push_back(value_of_text(trimmed(cells[j])));
  }
  if (lines.size() == 1) {
    return fail({"sweep.axis", "the file has axis names but no values", "add lines of values", in_file(path)});
  }
  return axes;
}

}  // namespace cortado::sweep
