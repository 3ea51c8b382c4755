#include <optional>

#include "workload/layers.hpp"

namespace cortado::workload {
namespace {

constexpr double kBf16 = 2;

/// Queries, keys and values of latent attention; decoding stays in the narrow form, with matrices folded into the
/// queries.
void latent_projections(BlockBuilder& block) {
  const Scene& scene = block.scene();
  const Model& model = scene.model;
  const LatentAttention& latent = *model.attention.latent;
  const DType dtype = scene.phase.dtype;
  const std::uint64_t tokens = scene.tokens();
  const std::uint64_t heads = scene.heads();
  const std::uint64_t queries = heads * (latent.nope_dim + latent.rope_dim);
  block.gemm("q, kv down", {tokens, latent.query_rank + latent.kv_rank + latent.rope_dim, model.hidden, dtype});
  block.stream("norm of latents", 2 * kBf16 * static_cast<double>(tokens * (latent.query_rank + latent.kv_rank)));
  block.gemm("q up", {tokens, queries, latent.query_rank == 0 ? model.hidden : latent.query_rank, dtype});
  if (scene.phase.kind == PhaseKind::decode) {
    block.gemm("fold keys", {tokens, latent.kv_rank, latent.nope_dim, DType::bf16}, heads);
    return;
  }
  const std::uint64_t seen = tokens + scene.phase.batch * scene.phase.context;
  block.gemm("kv up", {seen, heads * (latent.nope_dim + latent.value_dim), latent.kv_rank, dtype});
}

void attention_part(BlockBuilder& block, const Layer& layer) {
  const Scene& scene = block.scene();
  const Model& model = scene.model;
  const DType dtype = scene.phase.dtype;
  const std::uint64_t tokens = scene.tokens();
  const bool latent = model.attention.latent.has_value();
  block.norm("norm", 4);
  block.gather_tokens();
  if (latent) {
    latent_projections(block);
  } else {
    block.gemm("qkv", {tokens, scene.qkv_width(), model.hidden, dtype});
  }
  block.stream("rope, cache", 2 * kBf16 * static_cast<double>(tokens * scene.qkv_width()));
  block.attention("attention", attention_of(scene, layer, false));
  if (latent && scene.phase.kind == PhaseKind::decode) {
    block.gemm("unfold values",
               {tokens, model.attention.latent->value_dim, model.attention.latent->kv_rank, DType::bf16},
               scene.heads());
  }
  block.gemm("output", {tokens, model.hidden, scene.output_width(), dtype});
  block.sum_parts();
}

void dense_part(BlockBuilder& block, std::uint64_t width, const std::string& of) {
  const Scene& scene = block.scene();
  const DType dtype = scene.phase.dtype;
  const std::uint64_t tokens = scene.tokens();
  block.gemm(of + "gate, up", {tokens, 2 * width, scene.model.hidden, dtype});
  block.stream(of + "activation", 3 * kBf16 * static_cast<double>(tokens * width));
  block.gemm(of + "down", {tokens, scene.model.hidden, width, dtype});
}

void send_tokens(BlockBuilder& block, const ExpertRows& rows, const std::string& name) {
  const Scene& scene = block.scene();
  if (!scene.layout.sends_tokens()) return;
  const double bytes = kBf16 * rows.sent_rows * static_cast<double>(scene.model.hidden);
  block.collective(name, {.collective = "all-to-all",
                          .bytes = {static_cast<std::uint64_t>(bytes)},
                          .group = RankGroup::experts,
                          .imbalance = rows.imbalance});
}

void expert_part(BlockBuilder& block) {
  const Scene& scene = block.scene();
  const Model& model = scene.model;
  const Experts& experts = *model.experts;
  const DType dtype = scene.phase.dtype;
  const std::uint64_t tokens = scene.tokens();
  const ExpertRows rows = expert_rows(scene);
  const auto received = static_cast<double>(rows.rows * rows.groups);
  block.gemm("router", {tokens, experts.count, model.hidden, DType::bf16});
  block.stream("choose experts", 4.0 * static_cast<double>(tokens * experts.count));
  send_tokens(block, rows, "dispatch");
  block.stream("sort tokens", 2 * kBf16 * received * static_cast<double>(model.hidden));
  block.gemm("experts gate, up", {rows.rows, 2 * rows.width, model.hidden, dtype}, rows.groups);
  block.stream("experts activation", 3 * kBf16 * received * static_cast<double>(rows.width));
  block.gemm("experts down", {rows.rows, model.hidden, rows.width, dtype}, rows.groups);
  send_tokens(block, rows, "combine");
  block.stream("add experts",
               kBf16 * (rows.sent_rows + static_cast<double>(tokens)) * static_cast<double>(model.hidden));
  if (experts.shared > 0) dense_part(block, experts.shared * experts.intermediate / scene.layout.tp, "shared ");
}

}  // namespace

Block forward_block(const Scene& scene, const Layer& layer, double times) {
  BlockBuilder block(scene, layer.experts ? "layer with experts" : "layer", times);
  attention_part(block, layer);
  block.norm("norm", 4);
  block.gather_tokens();
  if (layer.experts) {
    expert_part(block);
  } else {
    dense_part(block, scene.model.intermediate / scene.layout.tp, "");
  }
  block.sum_parts();
  const double bytes = kBf16 * layer_parameters(scene.model, layer, scene.layout);
  if (scene.phase.trains() && scene.phase.dtype == DType::f8) block.stream("cast weights", 2 * bytes);
  if (scene.layout.fsdp > 1) {
    block.stream("unpack weights", 2 * bytes);
    block.gather_weights({static_cast<std::uint64_t>(bytes)});
  }
  return block.finish();
}

}  // namespace cortado::workload
