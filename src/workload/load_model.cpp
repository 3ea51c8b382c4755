#include <algorithm>

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

constexpr SizeLimit kConfigLimit{Bytes{1ULL << 24}, "configurations of models"};

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

bool is_path(const std::string& name) {
  return name.find('/') != std::string::npos || name.ends_with(".json");
}

std::string no_such_family(const std::string& family) {
  return suggestion(family, workload::family_names());
}

}  // namespace

Result<Model> parse_model(const std::string& text, const std::string& file) {
  nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object()) {
    return fail(Diagnostic{"model.json", "this is not a JSON object", "give a config.json of Hugging Face",
                           workload::place_of(file, {})});
  }
  Config config(std::move(json), file);
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
