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

/// "published/sublayers/t3.toml: gpt-3 of models"
std::string place_in(const std::string& file, const toml::table& source, const char* key) {
  return fmt::format("{}: {} of {}", file, source["name"].value_or(std::string("one")), key);
}

Result<Kind> read_kind(const toml::table& source, const std::string& file) {
  Reader in(source, place_in(file, source, "sublayers"));
  Kind kind{in.text("name"), in.count("k_over_hidden")};
  in.text("source");
  if (in.error()) return fail(*in.error());
  return kind;
}

Result<Model> read_model(const toml::table& source, const std::string& file) {
  Reader in(source, place_in(file, source, "models"));
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

}  // namespace

Result<std::vector<SubLayer>> parse_sublayers(const std::string& text, const std::string& file) {
  CORTADO_ASSIGN_OR_RETURN(const toml::table root, parse_toml(text, file));
  Reader in(root, file);
  const std::string dtype = in.text("dtype");
  if (in.error()) return fail(*in.error());
  CORTADO_ASSIGN_OR_RETURN(const std::vector<Kind> kinds, need_tables<Kind>(root, "sublayers", file, read_kind));
  CORTADO_ASSIGN_OR_RETURN(const std::vector<Model> models, need_tables<Model>(root, "models", file, read_model));
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
  return load_from(internal::embedded_sublayers(), "sublayers/", "are not sub-layers", wanted, parse_sublayers);
}

}  // namespace cortado::published
