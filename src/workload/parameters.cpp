// Counting parameters. Weights are the matrices of a layer, one for each of its GEMMs; norms and biases are counted,
// too.
#include <algorithm>
#include <cmath>

#include "cortado/model.hpp"

namespace cortado {
namespace {

std::uint64_t latent_parameters(const Model& model) {
  const Attention& attention = model.attention;
  const LatentAttention& latent = *attention.latent;
  const std::uint64_t queries = attention.heads * (latent.nope_dim + latent.rope_dim);
  std::uint64_t count = latent.query_rank == 0 ? model.hidden * queries
                                               : latent.query_rank * (model.hidden + 1 + queries);  // 1: its norm
  count += model.hidden * (latent.kv_rank + latent.rope_dim) + latent.kv_rank;
  count += latent.kv_rank * attention.heads * (latent.nope_dim + latent.value_dim);
  return count + attention.output_width() * model.hidden;
}

/// Router and experts, with `visited` of those that can be chosen.
std::uint64_t expert_parameters(const Model& model, std::uint64_t visited) {
  const Experts& experts = *model.experts;
  std::uint64_t one = 3 * model.hidden * experts.intermediate;
  if (experts.bias) one += 2 * experts.intermediate + model.hidden;
  std::uint64_t router = model.hidden * experts.count;
  if (experts.bias || experts.correction_bias) router += experts.count;
  return router + visited * one + experts.shared * 3 * model.hidden * experts.intermediate;
}

}  // namespace

std::uint64_t Attention::query_width() const {
  return heads * (latent ? latent->nope_dim + latent->rope_dim : head_dim);
}

std::uint64_t Attention::output_width() const {
  return heads * (latent ? latent->value_dim : head_dim);
}

std::uint64_t Attention::cached_values() const {
  return latent ? latent->kv_rank + latent->rope_dim : 2 * kv_heads * head_dim;
}

std::uint64_t Model::layers_with_experts() const {
  return static_cast<std::uint64_t>(std::ranges::count(layers, true, &Layer::experts));
}

std::uint64_t attention_parameters(const Model& model) {
  const Attention& attention = model.attention;
  if (attention.latent) return latent_parameters(model);
  const std::uint64_t queries = attention.query_width();
  const std::uint64_t keys_and_values = 2 * attention.kv_heads * attention.head_dim;
  std::uint64_t count = model.hidden * (queries + keys_and_values) + queries * model.hidden;
  if (attention.qkv_bias) count += queries + keys_and_values;
  if (attention.output_bias) count += model.hidden;
  if (attention.qk_norm) count += 2 * attention.head_dim;
  if (attention.sinks) count += attention.heads;
  return count;
}

std::uint64_t feed_forward_parameters(const Model& model, std::uint64_t intermediate) {
  return 3 * model.hidden * intermediate + (model.mlp_bias ? 2 * intermediate + model.hidden : 0);
}

ParameterCounts count_parameters(const Model& model) {
  const std::uint64_t sparse = model.layers_with_experts();
  const std::uint64_t dense = model.layers.size() - sparse;
  const std::uint64_t every = attention_parameters(model) + model.norms_per_layer * model.hidden;
  std::uint64_t common = model.layers.size() * every + model.hidden;  // and the last norm
  common += dense * feed_forward_parameters(model, model.intermediate);
  ParameterCounts counts;
  counts.embeddings = model.vocabulary * model.hidden * (model.tied ? 1 : 2);
  counts.total = counts.active = common + counts.embeddings;
  if (sparse > 0) {
    counts.total += sparse * expert_parameters(model, model.experts->count);
    counts.active += sparse * expert_parameters(model, model.experts->per_token);
  }
  return counts;
}

Bytes weight_bytes(const Model& model) {
  const ParameterCounts counts = count_parameters(model);
  const std::uint64_t sparse = model.layers_with_experts();
  std::uint64_t narrow = counts.total - counts.embeddings;
  if (model.weights.experts_only) {
    narrow = sparse == 0 ? 0 : sparse * model.experts->count * 3 * model.hidden * model.experts->intermediate;
  }
  // What is not quantised has 16 bits, or more if all weights do.
  const double bits = static_cast<double>(narrow) * model.weights.bits +
                      static_cast<double>(counts.total - narrow) * std::max(16.0, model.weights.bits);
  return {static_cast<std::uint64_t>(std::llround(bits / 8))};
}

Bytes kv_bytes_per_token(const Model& model, Bytes value_bytes) {
  return value_bytes * (model.attention.cached_values() * model.layers.size());
}

}  // namespace cortado
