// The single list of families. Fields and their quirks are those of the transformers library; where a key may be
// missing, the default is that of the class that reads it there.
#include "workload/families.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cortado::workload {
namespace {

constexpr std::uint64_t kMostLayers = 10'000;

std::uint64_t layer_count(Config& config) {
  const std::uint64_t count = config.number("num_hidden_layers");
  if (count > kMostLayers) config.refuse("num_hidden_layers", fmt::format("{} layers are too many", count));
  return std::min(count, kMostLayers);
}

/// What nearly all families have.
void read_common(Config& config, Model& model) {
  model.hidden = config.number("hidden_size");
  model.vocabulary = config.number("vocab_size");
  model.context = config.number("max_position_embeddings");
  model.intermediate = config.number("intermediate_size");
  model.tied = config.flag_or("tie_word_embeddings", false);
  model.layers.resize(layer_count(config));
  Attention& attention = model.attention;
  attention.heads = config.number("num_attention_heads");
  attention.kv_heads = config.number_or("num_key_value_heads", attention.heads);
  attention.head_dim = config.number_or("head_dim", model.hidden / attention.heads);
  if (attention.head_dim == 0) {
    config.refuse("head_dim", fmt::format("{} attention heads are more than a hidden size of {} has room for",
                                          attention.heads, model.hidden));
  }
  attention.qkv_bias = config.flag_or("attention_bias", false);
  attention.output_bias = attention.qkv_bias;
  if (attention.kv_heads == 0 || attention.heads % attention.kv_heads != 0) {
    config.refuse("num_key_value_heads", fmt::format("{} attention heads cannot be divided among {} key-value heads",
                                                     attention.heads, attention.kv_heads));
  }
}

void set_windows(Config& config, Model& model, std::uint64_t window) {
  const std::vector<std::string> types = config.texts("layer_types");
  if (types.size() != model.layers.size()) {
    config.refuse("layer_types",
                  fmt::format("layer_types has {} entries for {} layers", types.size(), model.layers.size()));
    return;
  }
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (types[i] == "sliding_attention") model.layers[i].window = window;
  }
}

/// `count` experts in every layer.
void set_experts(Config& config, Model& model, std::uint64_t count, std::uint64_t intermediate) {
  model.experts =
      Experts{.count = count, .per_token = config.number("num_experts_per_tok"), .intermediate = intermediate};
  if (model.experts->per_token > count) {
    config.refuse("num_experts_per_tok",
                  fmt::format("a token cannot visit {} of {} experts", model.experts->per_token, count));
  }
  for (Layer& layer : model.layers) layer.experts = true;
}

void read_llama(Config& config, Model& model) {
  read_common(config, model);
  model.mlp_bias = config.flag_or("mlp_bias", false);
}

/// A missing window means 4096, null switches it off.
void read_mistral(Config& config, Model& model) {
  read_common(config, model);
  const bool given = config.present("sliding_window");
  const std::uint64_t window = given ? config.number_or("sliding_window", 0) : 4096;
  if (window == 0) return;
  for (Layer& layer : model.layers) layer.window = window;
}

void read_mixtral(Config& config, Model& model) {
  read_common(config, model);
  set_experts(config, model, config.number("num_local_experts"), model.intermediate);
}

/// Windows are given but not used unless use_sliding_window; the first max_window_layers see everything.
void set_qwen_windows(Config& config, Model& model) {
  if (!config.flag_or("use_sliding_window", false)) return;
  const std::uint64_t window = config.number("sliding_window");
  const std::uint64_t full = config.number_or("max_window_layers", 0);
  for (std::size_t i = full; i < model.layers.size(); ++i) model.layers[i].window = window;
}

/// Queries, keys and values always have biases, though the file does not say so.
void read_qwen2(Config& config, Model& model) {
  read_common(config, model);
  model.attention.qkv_bias = true;
  model.attention.output_bias = false;
  set_qwen_windows(config, model);
}

void read_qwen3(Config& config, Model& model) {
  read_common(config, model);
  model.attention.qk_norm = true;
  set_qwen_windows(config, model);
}

/// intermediate_size is that of dense layers, which released models do not have.
void read_qwen3_moe(Config& config, Model& model) {
  read_qwen3(config, model);
  set_experts(config, model, config.number("num_experts"), config.number("moe_intermediate_size"));
  const std::uint64_t step = config.number_or("decoder_sparse_step", 1);
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    model.layers[i].experts = step > 0 && (i + 1) % step == 0;
  }
  for (const std::uint64_t dense : config.numbers("mlp_only_layers")) {
    if (dense < model.layers.size()) model.layers[dense].experts = false;
  }
}

/// num_key_value_heads does not determine the cache, which holds the narrow (latent) form.
void read_deepseek(Config& config, Model& model) {
  read_common(config, model);
  Attention& attention = model.attention;
  attention.latent = LatentAttention{.query_rank = config.has("q_lora_rank") ? config.number("q_lora_rank") : 0,
                                     .kv_rank = config.number("kv_lora_rank"),
                                     .nope_dim = config.number("qk_nope_head_dim"),
                                     .rope_dim = config.number("qk_rope_head_dim"),
                                     .value_dim = config.number("v_head_dim")};
  attention.head_dim = attention.latent->nope_dim + attention.latent->rope_dim;
  set_experts(config, model, config.number("n_routed_experts"), config.number("moe_intermediate_size"));
  model.experts->shared = config.number_or("n_shared_experts", 0);
  model.experts->correction_bias = true;
  const std::uint64_t dense = config.number_or("first_k_dense_replace", 0);
  if (dense > model.layers.size()) {
    config.refuse("first_k_dense_replace",
                  fmt::format("first_k_dense_replace is {}, but there are {} layers", dense, model.layers.size()));
  }
  const std::uint64_t every = std::max<std::uint64_t>(1, config.number_or("moe_layer_freq", 1));
  for (std::size_t i = 0; i < model.layers.size(); ++i) model.layers[i].experts = i >= dense && i % every == 0;
}

void read_gpt_oss(Config& config, Model& model) {
  read_common(config, model);
  model.attention.qkv_bias = config.flag_or("attention_bias", true);
  model.attention.output_bias = model.attention.qkv_bias;
  model.attention.sinks = true;
  set_experts(config, model, config.number("num_local_experts"), model.intermediate);
  model.experts->bias = true;
  set_windows(config, model, config.number("sliding_window"));
}

/// Four norms per block. Every sixth layer sees everything, unless layer_types says otherwise.
void read_gemma3(Config& config, Model& model) {
  read_common(config, model);
  model.attention.qk_norm = true;
  model.norms_per_layer = 4;
  model.tied = config.flag_or("tie_word_embeddings", true);
  const std::uint64_t window = config.number("sliding_window");
  if (config.has("layer_types")) {
    set_windows(config, model, window);
    return;
  }
  const std::uint64_t pattern = std::max<std::uint64_t>(1, config.number_or("sliding_window_pattern", 6));
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    if ((i + 1) % pattern != 0) model.layers[i].window = window;
  }
}

void read_phi3(Config& config, Model& model) {
  read_common(config, model);
  const std::uint64_t window = config.number_or("sliding_window", 0);
  if (window == 0 || window >= model.context) return;
  for (Layer& layer : model.layers) layer.window = window;
}

constexpr Family kFamilies[] = {
    {"llama", read_llama},          {"mistral", read_mistral},    {"mixtral", read_mixtral},
    {"qwen2", read_qwen2},          {"qwen3", read_qwen3},        {"qwen3_moe", read_qwen3_moe},
    {"deepseek_v3", read_deepseek}, {"kimi_k2", read_deepseek},   {"gpt_oss", read_gpt_oss},
    {"gemma3", read_gemma3},        {"gemma3_text", read_gemma3}, {"phi3", read_phi3},
};

}  // namespace

const Family* find_family(const std::string& name) {
  const auto* found = std::ranges::find_if(kFamilies, [&](const Family& family) { return name == family.name; });
  return found == std::end(kFamilies) ? nullptr : found;
}

std::vector<std::string> family_names() {
  std::vector<std::string> names;
  for (const Family& family : kFamilies) names.emplace_back(family.name);
  return names;
}

}  // namespace cortado::workload
