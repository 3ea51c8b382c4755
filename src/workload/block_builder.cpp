#include <algorithm>
#include <cmath>

#include "workload/layers.hpp"

namespace cortado::workload {
namespace {

constexpr double kActivationBytes = 2;  // everything between GEMMs is bf16

}  // namespace

std::uint64_t Scene::tokens() const {
  return phase.batch * (phase.kind == PhaseKind::decode ? 1 : phase.tokens);
}

std::uint64_t Scene::kv_heads() const {
  return std::max<std::uint64_t>(1, model.attention.kv_heads / layout.tp);
}

std::uint64_t Scene::qkv_width() const {
  return (heads() + 2 * kv_heads()) * model.attention.head_dim;
}

double Scene::activation_bytes() const {
  return kActivationBytes * static_cast<double>(tokens() * model.hidden);
}

BlockBuilder::BlockBuilder(const Scene& scene, std::string name, double times) : scene_(scene) {
  block_.name = std::move(name);
  block_.times = times;
}

std::size_t BlockBuilder::add(Operator op) {
  const std::size_t index = block_.operators.size();
  if (index > 0) op.needs.push_back(index - 1);
  block_.operators.push_back(std::move(op));
  return index;
}

std::size_t BlockBuilder::gemm(std::string name, const GemmShape& shape, std::uint64_t groups) {
  // Activations are bf16. Training in f8 casts the operands of a GEMM, both as they are and transposed for the backward
  // pass. Serving engines quantise the input of every f8 GEMM in a kernel of its own, unless that is fused.
  if (shape.dtype == DType::f8) {
    const auto values = static_cast<double>(shape.m * shape.k * groups);
    const bool trains = scene_.phase.trains();
    stream((trains ? "cast for " : "quantise for ") + name, (trains ? 4.0 : 3.0) * values);
  }
  return add({std::move(name), GemmWork{shape, groups}});
}

std::size_t BlockBuilder::weight_gradient(std::string name, const GemmShape& shape, std::uint64_t groups) {
  return add({std::move(name), GemmWork{shape, groups}});
}

std::size_t BlockBuilder::attention(std::string name, const AttentionShape& shape) {
  return add({std::move(name), shape});
}

std::size_t BlockBuilder::stream(std::string name, double bytes) {
  return add({std::move(name), StreamWork{bytes}});
}

std::size_t BlockBuilder::collective(std::string name, CollectiveWork work) {
  return add({std::move(name), work});
}

void BlockBuilder::hide(std::size_t collective, std::size_t behind) {
  block_.operators[collective].hides_behind.push_back(behind);
  std::erase(block_.operators[behind].needs, collective);
}

void BlockBuilder::gather_tokens() {
  if (!scene_.layout.sp) return;
  const auto bytes = static_cast<std::uint64_t>(scene_.activation_bytes());
  collective("gather tokens", {.collective = "all-gather", .bytes = {bytes}});
}

std::optional<std::size_t> BlockBuilder::sum_parts() {
  if (scene_.layout.tp == 1) return std::nullopt;
  const auto bytes = static_cast<std::uint64_t>(scene_.activation_bytes());
  if (scene_.layout.sp) return collective("sum parts", {.collective = "reduce-scatter", .bytes = {bytes}});
  return collective("sum parts", {.collective = "all-reduce", .bytes = {bytes}});
}

void BlockBuilder::gather_weights(Bytes bytes) {
  const CollectiveWork gather{.collective = "all-gather", .bytes = bytes, .group = RankGroup::shards};
  if (scene_.layout.prefetch > 0) return beside(gather);
  collective("gather weights", gather);
}

void BlockBuilder::norm(std::string name, double passes) {
  stream(std::move(name), passes * scene_.activation_bytes() * scene_.own_share());
}

double visible_pairs(std::uint64_t fresh, std::uint64_t cached, const std::optional<std::uint64_t>& window) {
  const auto n = static_cast<double>(fresh);
  const auto c = static_cast<double>(cached);
  if (!window || c + n <= static_cast<double>(*window)) return n * c + n * (n + 1) / 2;
  const auto w = static_cast<double>(*window);
  const double growing = std::clamp(w - c, 0.0, n);  // queries that see fewer tokens than the window
  return growing * c + growing * (growing + 1) / 2 + (n - growing) * w;
}

AttentionShape attention_of(const Scene& scene, const Layer& layer, bool backward) {
  const Attention& attention = scene.model.attention;
  const Phase& phase = scene.phase;
  const bool decode = phase.kind == PhaseKind::decode;
  const std::uint64_t fresh = decode ? 1 : phase.tokens;
  const auto batch = static_cast<double>(phase.batch);
  const auto heads = static_cast<double>(scene.heads());
  const double pairs = visible_pairs(fresh, phase.context, layer.window);
  const auto seen = static_cast<double>(std::min(phase.context + fresh, layer.window.value_or(phase.context + fresh)));
  const auto kv_bytes = static_cast<double>(size_of(phase.kv_dtype).value);
  AttentionShape shape{.scores = batch * heads * pairs, .backward = backward, .fused = phase.fused_attention};
  double cached_values = 2.0 * static_cast<double>(scene.kv_heads() * attention.head_dim);
  shape.key_dim = shape.value_dim = attention.head_dim;
  if (attention.latent) {
    const LatentAttention& latent = *attention.latent;
    shape.key_dim = decode ? latent.kv_rank + latent.rope_dim : latent.nope_dim + latent.rope_dim;
    shape.value_dim = decode ? latent.kv_rank : latent.value_dim;
    cached_values = decode ? static_cast<double>(attention.cached_values())
                           : heads * static_cast<double>(shape.key_dim + shape.value_dim);
  }
  const double ends = heads * static_cast<double>(fresh * (shape.key_dim + shape.value_dim));
  shape.bytes = batch * (seen * cached_values * kv_bytes + ends * kActivationBytes);
  // Scores are written, normalised, masked and read: six and a half passes of two bytes each.
  if (!shape.fused) shape.bytes += 6.5 * kActivationBytes * shape.scores * (backward ? 1.5 : 1);
  if (backward) shape.bytes *= 2;
  return shape;
}

ExpertRows expert_rows(const Scene& scene) {
  const Experts& experts = *scene.model.experts;
  const Layout& layout = scene.layout;
  const auto count = static_cast<double>(experts.count);
  const auto picked = static_cast<double>(experts.per_token);
  const auto tokens = static_cast<double>(scene.tokens());
  const double senders = layout.sends_tokens() ? layout.ep : 1;
  const double local = count / layout.ep;
  ExpertRows rows;
  rows.imbalance = expert_imbalance(experts, layout.ep, scene.phase.skew);
  rows.sent_rows = tokens * picked;
  rows.width = layout.ep > 1 ? experts.intermediate : experts.intermediate / layout.tp;
  const double touched = std::max(1.0, local * (1 - std::pow(1 - picked / count, tokens * senders)));
  const double received = tokens * picked * senders / layout.ep * rows.imbalance;
  rows.groups = static_cast<std::uint64_t>(std::ceil(touched - 1e-9));
  rows.rows = static_cast<std::uint64_t>(std::max(1.0, std::ceil(received / static_cast<double>(rows.groups))));
  return rows;
}

}  // namespace cortado::workload
