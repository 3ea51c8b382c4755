#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

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
constexpr JsonRules kConfigRules{.most_nesting = 32};
constexpr double kMostParameters = 1e15;

struct WeightType {
  std::string_view stored;  // PyTorch's name for it
  const char* name;
  double bits;
};

/// What a file says about the type of its weights, under either of the names that versions of transformers use; none if
/// it says nothing, or leaves the choice to the program ("auto").
std::optional<std::pair<std::string, std::string>> stored_type(Config& config) {
  for (const char* key : {"torch_dtype", "dtype"}) {
    if (!config.has(key)) continue;
    std::string type = config.text(key);
    if (type.starts_with("torch.")) type.erase(0, std::string_view("torch.").size());
    if (type == "auto") return std::nullopt;
    return std::pair(std::string(key), std::move(type));
  }
  return std::nullopt;
}

/// Weights without scales. An unknown type is rejected: its size in bytes is not known.
WeightFormat read_plain_weights(Config& config) {
  constexpr WeightType kTypes[] = {{"bfloat16", "bf16", 16},  {"float16", "f16", 16},       {"half", "f16", 16},
                                   {"float32", "f32", 32},    {"float", "f32", 32},         {"float8_e4m3fn", "fp8", 8},
                                   {"float8_e5m2", "fp8", 8}, {"float8_e4m3fnuz", "fp8", 8}};
  const auto type = stored_type(config);
  if (!type) return {.name = "bf16", .bits = 16};
  const auto known = std::ranges::find(kTypes, std::string_view(type->second), &WeightType::stored);
  if (known != std::end(kTypes)) return {.name = known->name, .bits = known->bits};
  config.refuse(type->first,
                fmt::format("weights of type {} are not supported; bfloat16, float16, float32 and float8_e4m3fn are",
                            type->second));
  return {};
}

/// Scales: one f32 per block of 128 x 128 weights for fp8; one per row for fbgemm_fp8, which is negligible; one byte
/// per 32 weights for mxfp4.
WeightFormat read_weights(Config& config) {
  const auto quantization = config.inner("quantization_config");
  if (!quantization && config.has("quantization_config")) {
    config.refuse("quantization_config", "quantization_config is not an object");
  }
  if (!quantization || !quantization->has("quant_method")) return read_plain_weights(config);
  Config fields = *quantization;
  const std::string method = fields.text("quant_method");
  if (method == "fp8") return {.name = "fp8", .bits = 8 + 32.0 / (128 * 128)};
  if (method == "fbgemm_fp8") return {.name = "fp8", .bits = 8};
  if (method == "mxfp4") return {.name = "mxfp4", .bits = 4 + 8.0 / 32, .experts_only = true};
  config.refuse("quantization_config",
                fmt::format("weights with quant_method {} are not supported; fp8, fbgemm_fp8 and mxfp4 are. Without "
                            "quantization_config they have the torch_dtype",
                            method.empty() ? "of another type" : method));
  return {};
}

/// In floating point, so that later integer counts cannot overflow.
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

/// The key of the largest number among those that the count of parameters depends on.
std::string_view largest_field(const Config& config, const Model& model) {
  const Experts experts = model.experts.value_or(Experts{});
  const LatentAttention latent = model.attention.latent.value_or(LatentAttention{});
  const std::pair<std::string_view, std::uint64_t> fields[] = {{"hidden_size", model.hidden},
                                                               {"vocab_size", model.vocabulary},
                                                               {"intermediate_size", model.intermediate},
                                                               {"num_attention_heads", model.attention.heads},
                                                               {"head_dim", model.attention.head_dim},
                                                               {"moe_intermediate_size", experts.intermediate},
                                                               {"num_experts", experts.count},
                                                               {"num_local_experts", experts.count},
                                                               {"n_routed_experts", experts.count},
                                                               {"n_shared_experts", experts.shared},
                                                               {"q_lora_rank", latent.query_rank},
                                                               {"kv_lora_rank", latent.kv_rank},
                                                               {"qk_nope_head_dim", latent.nope_dim},
                                                               {"qk_rope_head_dim", latent.rope_dim},
                                                               {"v_head_dim", latent.value_dim}};
  std::pair<std::string_view, std::uint64_t> largest = fields[0];
  for (const auto& field : fields) {
    if (field.second > largest.second && config.has(field.first)) largest = field;
  }
  return largest.first;
}

bool is_path(const std::string& name) {
  return name.find('/') != std::string::npos || name.ends_with(".json");
}

std::string no_such_family(const std::string& family) {
  return suggestion(family, workload::family_names());
}

}  // namespace

DType usual_type(const WeightFormat& weights) {
  if (weights.name == "fp8") return DType::f8;
  return weights.name == "f16" ? DType::f16 : DType::bf16;
}

Result<Model> parse_model(const std::string& text, const std::string& file) {
  auto json = Json::parse(text, kConfigRules);
  if (!json || !json->is_object()) {
    return fail(Diagnostic{"model.json", "this is not a JSON object", "use a Hugging Face config.json",
                           workload::place_of(file, {})});
  }
  Config config(*std::move(json), file);
  Config whole = config;
  const std::string outer = config.has("model_type") ? config.text("model_type") : "";
  // Models that also process images describe the text model in a separate object.
  if (const auto text_config = config.inner("text_config"); text_config && !config.has("hidden_size")) {
    config = *text_config;
  }
  const std::string name = config.has("model_type") ? config.text("model_type") : outer;
  if (name.empty()) {
    return fail(Diagnostic{"model.field", "model_type is missing", "use a Hugging Face config.json",
                           workload::place_of(file, "model_type")});
  }
  const Family* family = workload::find_family(name);
  if (family == nullptr) {
    return fail(Diagnostic{"model.family", fmt::format("models of type {} are not supported", name),
                           no_such_family(name), workload::place_of(file, "model_type")});
  }
  Model model;
  model.name = config.has("_name_or_path") ? config.text("_name_or_path") : name;
  model.family = name;
  model.file = file;
  family->read(config, model);
  const bool says_type = config.has("quantization_config") || config.has("torch_dtype") || config.has("dtype");
  Config& of_weights = says_type ? config : whole;
  model.weights = read_weights(of_weights);
  if (of_weights.mistake()) return fail(*of_weights.mistake());
  if (is_too_large(model)) {
    const std::string_view key = largest_field(config, model);
    config.refuse(key, fmt::format("with this {}, the model would have more than 10^15 parameters", key));
  }
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
              suggestion(name_or_path, model_names()) + "; or use the path of a config.json");
}

}  // namespace cortado
