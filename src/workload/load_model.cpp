#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "cortado/model.hpp"

#include "base/file.hpp"
#include "base/text.hpp"
#include "workload/config.hpp"
#include "workload/embedded.hpp"
#include "workload/families.hpp"

namespace cortado {
namespace {

using workload::Config;
using workload::Family;

constexpr SizeLimit kConfigLimit{1_MiB, "configurations of models"};
constexpr int kMostNesting = 32;
constexpr double kMostParameters = 1e15;

/// Scales: one f32 per block of 128 x 128 weights of fp8, one byte per 32 weights of mxfp4.
WeightFormat read_weights(const Config& config) {
  const auto quantization = config.inner("quantization_config");
  if (!quantization || !quantization->has("quant_method")) return {.name = "bf16", .bits = 16};
  Config fields = *quantization;
  const std::string method = fields.text("quant_method");
  if (method == "fp8") return {.name = "fp8", .bits = 8 + 32.0 / (128 * 128)};
  if (method == "mxfp4") return {.name = "mxfp4", .bits = 4 + 8.0 / 32, .experts_only = true};
  return {.name = method, .bits = 16};
}

/// None if it is no JSON, or nests too deep to be a configuration.
std::optional<nlohmann::json> parse_json(const std::string& text) {
  bool too_deep = false;
  const auto note_depth = [&](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    too_deep = too_deep || depth > kMostNesting;
    return !too_deep;
  };
  nlohmann::json json = nlohmann::json::parse(text, note_depth, false);
  if (too_deep || json.is_discarded()) return std::nullopt;
  return json;
}

/// In floating point, so that what is counted in whole numbers later cannot overflow.
bool is_too_large(const Model& model) {
  const auto of = [](std::uint64_t value) { return static_cast<double>(value); };
  const Attention& attention = model.attention;
  double width = std::max(
      {of(model.hidden), of(model.vocabulary), of(model.intermediate), of(attention.heads) * of(attention.head_dim)});
  double experts = 1;
  if (model.experts) {
    experts += of(model.experts->count) + of(model.experts->shared);
    width = std::max(width, of(model.experts->intermediate));
  }
  if (attention.latent) {
    const LatentAttention& latent = *attention.latent;
    const double head = of(latent.nope_dim) + of(latent.rope_dim) + of(latent.value_dim);
    width = std::max({width, of(latent.query_rank), of(latent.kv_rank), of(attention.heads) * head});
  }
  return width * of(model.hidden) * experts * of(model.layers.size()) > kMostParameters ||
         width * width > kMostParameters;
}

bool is_path(const std::string& name) {
  return name.find('/') != std::string::npos || name.ends_with(".json");
}

std::string no_such_family(const std::string& family) {
  return suggestion(family, workload::family_names());
}

}  // namespace

Result<Model> parse_model(const std::string& text, const std::string& file) {
  auto json = parse_json(text);
  if (!json || !json->is_object()) {
    return fail(Diagnostic{"model.json", "this is not a JSON object", "give a config.json of Hugging Face",
                           workload::place_of(file, {})});
  }
  Config config(*std::move(json), file);
  const std::string outer = config.has("model_type") ? config.text("model_type") : "";
  // Models that also see pictures keep what is said of the text model in an object of its own.
  if (const auto text_config = config.inner("text_config"); text_config && !config.has("hidden_size")) {
    config = *text_config;
  }
  const std::string name = config.has("model_type") ? config.text("model_type") : outer;
  if (name.empty()) {
    return fail(Diagnostic{"model.field", "model_type is missing", "give a config.json of Hugging Face",
                           workload::place_of(file, "model_type")});
  }
  const Family* family = workload::find_family(name);
  if (family == nullptr) {
    return fail(Diagnostic{"model.family", fmt::format("models of type {} are not known", name), no_such_family(name),
                           workload::place_of(file, "model_type")});
  }
  Model model;
  model.name = config.has("_name_or_path") ? config.text("_name_or_path") : name;
  model.family = name;
  model.file = file;
  family->read(config, model);
  model.weights = read_weights(config);
  if (is_too_large(model)) config.refuse("hidden_size", "the model would have more than 10^15 parameters");
  if (config.mistake()) return fail(*config.mistake());
  return model;
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const auto& [name, text] : internal::embedded_models()) names.emplace_back(name);
  std::ranges::sort(names);
  return names;
}

Result<Model> load_model(const std::string& name_or_path) {
  if (is_path(name_or_path)) {
    CORTADO_ASSIGN_OR_RETURN(const std::string text, read_file(name_or_path, kConfigLimit));
    return parse_model(text, name_or_path);
  }
  for (const auto& [name, text] : internal::embedded_models()) {
    if (name != name_or_path) continue;
    CORTADO_ASSIGN_OR_RETURN(Model model, parse_model(std::string(text), fmt::format("models/{}.json", name)));
    model.name = name;
    model.file = "built in";
    return model;
  }
  return fail("model.unknown", fmt::format("unknown model '{}'", name_or_path),
              suggestion(name_or_path, model_names()) + "; or give the path of a config.json");
}

}  // namespace cortado
