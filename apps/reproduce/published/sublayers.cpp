#include "reproduce/published/sublayers.hpp"

#include "reproduce/published/embedded.hpp"
#include "reproduce/published/reader.hpp"

namespace cortado::published {
namespace {

struct Kind {
  std::string name;
  std::uint64_t k_over_hidden = 0;
};

struct Model {
  std::string name;
  std::string group;
  std::uint64_t hidden = 0;
  std::uint64_t tokens = 0;
  std::vector<std::uint32_t> tp;
};

Result<Kind> read_kind(const toml::table& source, const std::string& where) {
  Reader in(source, where);
  Kind kind{in.text("name"), in.count("k_over_hidden")};
  in.text("source");
  if (in.error()) return fail(*in.error());
  return kind;
}

Result<Model> read_model(const toml::table& source, const std::string& where) {
  Reader in(source, where);
  Model model{in.text("name"), in.text("group"), in.count("hidden"), in.count("tokens"), {}};
  in.count("layers");
  in.text("source");
  const toml::array* degrees = in.array("tp");
  if (in.error()) return fail(*in.error());
  for (const toml::node& node : *degrees) {
    const auto tp = node.value<std::int64_t>();
    if (!tp || *tp < 2 || *tp > 1024 || model.hidden % static_cast<std::uint64_t>(*tp) != 0) {
      in.refuse("tp", "must be numbers of GPUs, 2 to 1024, that divide hidden");
      return fail(*in.error());
    }
    model.tp.push_back(static_cast<std::uint32_t>(*tp));
  }
  return model;
}

/// Every table of an array of tables, read.
template <class T>
Result<std::vector<T>> read_all(const toml::table& root, const char* key, const std::string& file,
                                Result<T> (*read)(const toml::table&, const std::string&)) {
  const toml::array* all = root[key].as_array();
  if (all == nullptr || all->empty()) {
    return fail("published.value", fmt::format("{}: there is no [[{}]]", file, key), "add one");
  }
  std::vector<T> items;
  for (const toml::node& node : *all) {
    if (!node.is_table()) return fail("published.value", fmt::format("{}: {} must be tables", file, key), "");
    const toml::table& table = *node.as_table();
    const std::string where = fmt::format("{}: {} of {}", file, table["name"].value_or(std::string("one")), key);
    CORTADO_ASSIGN_OR_RETURN(items.emplace_back(), read(table, where));
  }
  return items;
}

}  // namespace

Result<std::vector<SubLayer>> parse_sublayers(const std::string& text, const std::string& file) {
  CORTADO_ASSIGN_OR_RETURN(const toml::table root, parse_toml(text, file));
  Reader in(root, file);
  const std::string dtype = in.text("dtype");
  if (in.error()) return fail(*in.error());
  CORTADO_ASSIGN_OR_RETURN(const std::vector<Kind> kinds, read_all<Kind>(root, "sublayers", file, read_kind));
  CORTADO_ASSIGN_OR_RETURN(const std::vector<Model> models, read_all<Model>(root, "models", file, read_model));
  std::vector<SubLayer> all;
  for (const Model& model : models) {
    for (const std::uint32_t tp : model.tp) {
      for (const Kind& kind : kinds) {
        all.push_back({model.name, kind.name, tp, model.group, model.tokens, model.hidden,
                       kind.k_over_hidden * model.hidden / tp, dtype});
      }
    }
  }
  return all;
}

Result<std::vector<SubLayer>> load_sublayers(const std::string& wanted) {
  std::vector<std::string> names;
  for (const auto& [name, text] : internal::embedded_sublayers()) {
    if (name == wanted) return parse_sublayers(std::string(text), fmt::format("published/sublayers/{}.toml", name));
    names.emplace_back(name);
  }
  return fail("published.unknown", fmt::format("there are no sub-layers '{}'", wanted),
              fmt::format("there are {}", join(names)));
}

}  // namespace cortado::published
