#include "sweep/spec.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "base/file.hpp"
#include "base/parse_toml.hpp"
#include "base/text.hpp"
#include "sweep/axis_values.hpp"
#include "sweep/embedded.hpp"
#include "sweep/model_axes.hpp"

namespace cortado::sweep {
namespace {

constexpr SizeLimit kSpecFiles{Bytes{16ULL << 20}, "specs of sweeps"};
/// Columns of the database that no axis may have.
constexpr std::string_view kReserved[] = {"point", "state", "made_by", "machine_hash", "row", "regret"};

class SpecReader {
 public:
  SpecReader(const toml::table& root, const std::string& file)
      : root_(root), file_(file), folder_(std::filesystem::path(file).parent_path().string()) {
    spec_.file = file;
  }

  Result<Spec> read() {
    CORTADO_RETURN_IF_ERROR(
        check_keys(root_, {"question", "filters", "labels", "fixed", "axes", "zip", "keep", "rank"}, ""));
    const auto question = root_["question"].value<std::string>();
    if (!question) return refuse(root_, "question", "the question is missing", "set question = \"overlap\"");
    spec_.question = *question;
    CORTADO_ASSIGN_OR_RETURN(spec_.filters, texts(root_, "filters", "filters"));
    CORTADO_ASSIGN_OR_RETURN(spec_.labels, texts(root_, "labels", "labels"));
    CORTADO_RETURN_IF_ERROR(read_fixed());
    CORTADO_RETURN_IF_ERROR(read_axes());
    CORTADO_RETURN_IF_ERROR(read_zips());
    if (spec_.groups.empty()) {
      return refuse(root_, "axes", "a sweep without axes is a single command", "add [axes], or run the command itself");
    }
    std::ranges::stable_sort(spec_.groups, {}, [](const AxisGroup& group) { return group.axes.front().line; });
    if (const toml::node* const keep = root_.get("keep")) {
      const toml::table* const table = keep->as_table();
      if (table == nullptr) return refuse(*keep, "keep", "keep is not a table", "write [keep] with tables or columns");
      CORTADO_RETURN_IF_ERROR(check_keys(*table, {"tables", "columns"}, "keep."));
      CORTADO_ASSIGN_OR_RETURN(spec_.tables, texts(*table, "tables", "keep.tables"));
      CORTADO_ASSIGN_OR_RETURN(spec_.columns, texts(*table, "columns", "keep.columns"));
    }
    CORTADO_RETURN_IF_ERROR(read_ranking());
    return std::move(spec_);
  }

 private:
  Status read_ranking() {
    CORTADO_ASSIGN_OR_RETURN(const toml::table* const table, table_of("rank"));
    if (table == nullptr) return {};
    CORTADO_RETURN_IF_ERROR(
        check_keys(*table, {"table", "label", "column", "greatest", "within", "score", "condition"}, "rank."));
    Ranking ranking;
    for (const auto& [key, value] : {std::pair{"table", &ranking.table},
                                     {"label", &ranking.label},
                                     {"column", &ranking.column},
                                     {"within", &ranking.within},
                                     {"score", &ranking.score},
                                     {"condition", &ranking.condition}}) {
      const toml::node* const node = table->get(key);
      if (node == nullptr) continue;
      if (!node->is_string()) {
        return refuse(*node, fmt::format("rank.{}", key), fmt::format("{} is not a string", key), "put it in quotes");
      }
      *value = **node->as_string();
    }
    if (const toml::node* const greatest = table->get("greatest")) {
      if (!greatest->is_boolean()) {
        return refuse(*greatest, "rank.greatest", "greatest is neither true nor false", "write it without quotes");
      }
      ranking.greatest = **greatest->as_boolean();
    }
    if (ranking.label.empty() || ranking.column.empty()) {
      return refuse(*table, "rank", "label or column is missing", "set both to strings");
    }
    if (ranking.score.empty()) ranking.score = ranking.column;
    spec_.ranking = ranking;
    return {};
  }

  Unexpected<Diagnostic> refuse(const toml::node& node, const std::string& key, std::string message,
                                std::string hint) const {
    return fail({"sweep.spec", std::move(message), std::move(hint), place_in(file_, node, key)});
  }

  Status check_keys(const toml::table& table, const std::vector<std::string>& known, const std::string& prefix) const {
    for (const auto& [key, node] : table) {
      if (std::ranges::count(known, key.str()) > 0) continue;
      return refuse(node, prefix + std::string(key.str()), fmt::format("unknown key: {}{}", prefix, key.str()),
                    suggestion(key.str(), known));
    }
    return {};
  }

  Result<std::vector<std::string>> texts(const toml::table& table, std::string_view key,
                                         const std::string& path) const {
    std::vector<std::string> all;
    const toml::node* const node = table.get(key);
    if (node == nullptr) return all;
    const toml::array* const list = node->as_array();
    for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
      if (const auto text = list->get(i)->value<std::string>()) all.push_back(*text);
    }
    if (list == nullptr || all.empty() || all.size() != list->size()) {
      return refuse(*node, path, fmt::format("{} is not a list of strings", path), "write [\"...\"]");
    }
    return all;
  }

  Result<const toml::table*> table_of(const char* key) const {
    const toml::node* const node = root_.get(key);
    if (node == nullptr) return nullptr;
    if (node->is_table()) return node->as_table();
    return refuse(*node, key, fmt::format("{} is not a table", key), fmt::format("write [{}]", key));
  }

  Status add_name(const std::string& name, const toml::node& node) {
    const std::string lower = folded(name);
    if (std::ranges::count(kReserved, lower) > 0) {
      return refuse(node, name, fmt::format("{} is the name of a column in every results database", name),
                    "rename the axis");
    }
    const auto [known, is_new] = names_.emplace(lower, name);
    if (is_new) return {};
    if (known->second != name) {
      return refuse(node, name,
                    fmt::format("{} and {} differ only by case, but names of columns ignore it", known->second, name),
                    "rename one of them");
    }
    return refuse(node, name, fmt::format("{} is defined twice", name), "define each axis or fixed value once");
  }

  Status read_fixed() {
    CORTADO_ASSIGN_OR_RETURN(const toml::table* const table, table_of("fixed"));
    if (table == nullptr) return {};
    for (const auto& [key, node] : *table) {
      const std::string name(key.str());
      CORTADO_RETURN_IF_ERROR(add_name(name, node));
      const auto value = value_of(node);
      if (!value) {
        return refuse(node, "fixed." + name, fmt::format("{} is not a number, string or list", name),
                      "put axes in [axes]; write a machine field in quotes: \"links.rate_GBps\" = 64");
      }
      spec_.fixed.push_back({name, text_of(*value)});
    }
    return {};
  }

  Status read_axes() {
    CORTADO_ASSIGN_OR_RETURN(const toml::table* const table, table_of("axes"));
    if (table == nullptr) return {};
    for (const auto& [key, node] : *table) {
      const std::string name(key.str());
      CORTADO_RETURN_IF_ERROR(add_name(name, node));
      CORTADO_ASSIGN_OR_RETURN(std::vector<Value> values, axis_values(node, name, file_, folder_));
      CORTADO_RETURN_IF_ERROR(check_values(values, name, node));
      spec_.groups.push_back({{{name, std::move(values), node.source().begin.line}}});
    }
    return {};
  }

  Status check_values(const std::vector<Value>& values, const std::string& name, const toml::node& node) const {
    std::set<std::string> seen;
    for (const Value& value : values) {
      if (seen.insert(text_of(value)).second) continue;
      return refuse(node, name, fmt::format("axis {} has {} twice", name, text_of(value)), "list every value once");
    }
    return {};
  }

  Status read_zips() {
    const toml::node* const node = root_.get("zip");
    if (node == nullptr) return {};
    const toml::array* const list = node->as_array();
    if (list == nullptr) return refuse(*node, "zip", "zip is not a list of tables", "write [[zip]]");
    for (const toml::node& one : *list) {
      const toml::table* const table = one.as_table();
      if (table == nullptr || table->empty()) return refuse(one, "zip", "a zip without axes", "add two or more");
      AxisGroup group;
      const auto file = (*table)["file"].value<std::string>();
      const bool of_models = table->contains("models");
      if (of_models || (file && table->size() == 1)) {
        if (of_models && spec_.question != "overlap") {
          return refuse(
              one, "models",
              fmt::format("only overlap can be asked about layers of models, but this sweep asks {}", spec_.question),
              "set question = \"overlap\"; whole models are an axis: model = [\"llama-3.1-8b\"]");
        }
        if (of_models) {
          CORTADO_ASSIGN_OR_RETURN(group.axes, axes_of_models(*table, file_, folder_));
          spec_.labels.insert(spec_.labels.end(), kModelLabels.begin(), kModelLabels.end());
        } else {
          CORTADO_ASSIGN_OR_RETURN(group.axes, axes_of_file((std::filesystem::path(folder_) / *file).string()));
        }
        for (Axis& axis : group.axes) {
          axis.line = one.source().begin.line;
          CORTADO_RETURN_IF_ERROR(add_name(axis.name, one));
        }
      } else {
        for (const auto& [key, values] : *table) {
          const std::string name(key.str());
          CORTADO_RETURN_IF_ERROR(add_name(name, values));
          CORTADO_ASSIGN_OR_RETURN(std::vector<Value> all, axis_values(values, name, file_, folder_));
          group.axes.push_back({name, std::move(all), values.source().begin.line});
        }
      }
      std::ranges::stable_sort(group.axes, {}, &Axis::line);
      for (const Axis& axis : group.axes) {
        if (axis.values.size() == group.size()) continue;
        return refuse(one, "zip",
                      fmt::format("{} has {} values and {} has {}", group.axes.front().name, group.size(), axis.name,
                                  axis.values.size()),
                      "all axes of a zip need the same number of values");
      }
      spec_.groups.push_back(std::move(group));
    }
    return {};
  }

  const toml::table& root_;
  std::string file_;
  std::string folder_;
  std::map<std::string, std::string> names_;  // by the name in lower case, as columns are told apart
  Spec spec_;
};

}  // namespace

std::string folded(std::string_view name) {
  std::string lower(name);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

std::string text_of(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *whole);
  return fmt::format("{}", std::get<double>(value));
}

std::vector<const Axis*> Spec::axes() const {
  std::vector<const Axis*> all;
  for (const AxisGroup& group : groups) {
    for (const Axis& axis : group.axes) all.push_back(&axis);
  }
  return all;
}

std::uint64_t Spec::size() const {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  std::uint64_t count = 1;
  for (const AxisGroup& group : groups) count = count > kMost / group.size() ? kMost : count * group.size();
  return count;
}

std::vector<Value> Spec::values_at(std::uint64_t place) const {
  std::vector<std::size_t> places(groups.size());
  for (std::size_t i = groups.size(); i-- > 0;) {
    places[i] = static_cast<std::size_t>(place % groups[i].size());
    place /= groups[i].size();
  }
  std::vector<Value> values;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (const Axis& axis : groups[i].axes) values.push_back(axis.values[places[i]]);
  }
  return values;
}

Result<Spec> parse_spec(const std::string& text, const std::string& file) {
  CORTADO_ASSIGN_OR_RETURN(const toml::table root, internal::parse_toml(text, file, "sweep.spec"));
  CORTADO_ASSIGN_OR_RETURN(Spec spec, SpecReader(root, file).read());
  spec.text = text;
  return spec;
}

std::vector<std::string> study_names() {
  std::vector<std::string> names;
  for (const auto& [name, text] : embedded_studies()) names.emplace_back(name);
  return names;
}

Result<Spec> load_spec(const std::string& name_or_path) {
  if (name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".toml")) {
    CORTADO_ASSIGN_OR_RETURN(const std::string text, read_file(name_or_path, kSpecFiles));
    return parse_spec(text, name_or_path);
  }
  for (const auto& [name, text] : embedded_studies()) {
    if (name == name_or_path) return parse_spec(std::string(text), fmt::format("study {}", name));
  }
  return fail("sweep.study", fmt::format("unknown study \"{}\"", name_or_path),
              suggestion(name_or_path, study_names(), "studies: ") + "; or use the path of a .toml file");
}

std::vector<std::string> names_in_braces(std::string_view text) {
  std::vector<std::string> names;
  with_names_replaced(text, [&](std::string_view name) {
    names.emplace_back(name);
    return std::string();
  });
  return names;
}

bool is_machine_field(std::string_view name) {
  return name.find('.') != std::string_view::npos;
}

std::vector<Parameter> parameters_at(const Spec& spec, const std::vector<std::string>& values,
                                     const std::vector<std::string>& known) {
  const std::vector<const Axis*> axes = spec.axes();
  const auto value_of = [&](std::string_view name) {
    const auto found = std::ranges::find(axes, name, [](const Axis* axis) { return std::string_view(axis->name); });
    return found == axes.end() ? fmt::format("{{{}}}", name) : values[static_cast<std::size_t>(found - axes.begin())];
  };
  std::vector<Parameter> parameters;
  for (const Parameter& fixed : spec.fixed) {
    parameters.push_back({fixed.name, with_names_replaced(fixed.text, value_of)});
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::string& name = axes[i]->name;
    if (!is_machine_field(name) && std::ranges::count(known, name) == 0) continue;
    parameters.push_back({name, with_names_replaced(values[i], value_of)});
  }
  return parameters;
}

}  // namespace cortado::sweep
