// A layer's backward pass. Every GEMM C = A B has two there: dA = dC B' (whose result is passed on) and dB = A' dC.
#include <optional>

#include "workload/layers.hpp"

namespace cortado::workload {
namespace {

constexpr double kHalfBytes = 2;

GemmShape input_gradient(const GemmShape& forward) {
  return {forward.m, forward.k, forward.n, forward.dtype};
}
GemmShape weight_gradient(const GemmShape& forward) {
  return {forward.k, forward.n, forward.m, forward.dtype};
}

/// For a GEMM whose input was gathered or is complete on every tp rank: the gradient of the input is a sum over ranks.
/// It overlaps the gradient of the weights; the gathered input was kept.
void from_whole_input(BlockBuilder& block, const std::string& name, const GemmShape& forward) {
  block.gemm(name + " d input", input_gradient(forward));
  const std::optional<std::size_t> sum = block.sum_parts();
  const std::size_t weights = block.weight_gradient(name + " d weights", weight_gradient(forward));
  if (sum) block.hide(*sum, weights);
}

/// For a GEMM whose results were summed over ranks: the incoming gradient is complete.
void from_summed_output(BlockBuilder& block, const std::string& name, const GemmShape& forward) {
  block.gather_tokens();
  block.gemm(name + " d input", input_gradient(forward));
  block.weight_gradient(name + " d weights", weight_gradient(forward));
}

void dense_gradients(BlockBuilder& block, std::uint64_t width, const std::string& of) {
  const Scene& scene = block.scene();
  const std::uint64_t tokens = scene.tokens();
  const std::uint64_t hidden = scene.model.hidden;
  from_summed_output(block, of + "down", {tokens, hidden, width, scene.phase.dtype});
  block.stream(of + "d activation", 5 * kHalfBytes * static_cast<double>(tokens * width));
  from_whole_input(block, of + "gate, up", {tokens, 2 * width, hidden, scene.phase.dtype});
}

void expert_gradients(BlockBuilder& block) {
  const Scene& scene = block.scene();
  const Model& model = scene.model;
  const ExpertRows rows = expert_rows(scene);
  const auto received = static_cast<double>(rows.rows * rows.groups);
  const double bytes = kHalfBytes * rows.sent_rows * static_cast<double>(model.hidden);
  const CollectiveWork send{.collective = "all-to-all",
                            .bytes = {static_cast<std::uint64_t>(bytes)},
                            .group = RankGroup::experts,
                            .imbalance = rows.imbalance};
  const GemmShape down{rows.rows, model.hidden, rows.width, scene.phase.dtype};
  const GemmShape up{rows.rows, 2 * rows.width, model.hidden, scene.phase.dtype};
  const bool sends = scene.layout.sends_tokens();
  if (sends) block.collective("d combine", send);
  block.gemm("experts down d input", input_gradient(down), rows.groups);
  block.weight_gradient("experts down d weights", weight_gradient(down), rows.groups);
  block.stream("experts d activation", 5 * kHalfBytes * received * static_cast<double>(rows.width));
  block.gemm("experts gate, up d input", input_gradient(up), rows.groups);
  std::optional<std::size_t> sent;
  if (sends) sent = block.collective("d dispatch", send);
  const std::size_t weights = block.weight_gradient("experts gate, up d weights", weight_gradient(up), rows.groups);
  if (sent) block.hide(*sent, weights);
  block.stream("d sort tokens", 2 * kHalfBytes * (received + rows.sent_rows) * static_cast<double>(model.hidden));
  if (model.experts->shared > 0) {
    dense_gradients(block, model.experts->shared * model.experts->intermediate / scene.layout.tp, "shared ");
  }
}

void attention_gradients(BlockBuilder& block, const Layer& layer) {
  const Scene& scene = block.scene();
  const Model& model = scene.model;
  const std::uint64_t tokens = scene.tokens();
  const DType dtype = scene.phase.dtype;
  from_summed_output(block, "output", {tokens, model.hidden, scene.output_width(), dtype});
  block.attention("attention backward", attention_of(scene, layer, true));
  block.stream("d rope", 2 * kHalfBytes * static_cast<double>(tokens * scene.qkv_width()));
  if (!model.attention.latent) {
    from_whole_input(block, "qkv", {tokens, scene.qkv_width(), model.hidden, dtype});
    return;
  }
  const LatentAttention& latent = *model.attention.latent;
  const std::uint64_t heads = scene.heads();
  const std::uint64_t queries = heads * (latent.nope_dim + latent.rope_dim);
  const std::uint64_t query_rank = latent.query_rank == 0 ? model.hidden : latent.query_rank;
  for (const GemmShape& up : {GemmShape{tokens, heads * (latent.nope_dim + latent.value_dim), latent.kv_rank, dtype},
                              GemmShape{tokens, queries, query_rank, dtype}}) {
    block.gemm("latents d input", input_gradient(up));
    block.weight_gradient("latents d weights", weight_gradient(up));
  }
  from_whole_input(block, "q, kv down",
                   {tokens, latent.query_rank + latent.kv_rank + latent.rope_dim, model.hidden, dtype});
}

void share_gradients(BlockBuilder& block, const Layer& layer) {
  const Layout& layout = block.scene().layout;
  const double bytes = kHalfBytes * layer_parameters(block.scene().model, layer, layout);
  const Bytes whole{static_cast<std::uint64_t>(bytes)};
  if (layout.fsdp > 1) {
    block.stream("unpack weights, pack gradients", 4 * bytes);
    block.gather_weights(whole);
    block.beside({.collective = "reduce-scatter", .bytes = whole, .group = RankGroup::shards});
  }
  if (layout.dp > 1) {
    block.beside({.collective = "all-reduce", .bytes = whole / layout.fsdp, .group = RankGroup::replicas});
  }
}

/// The parts of the forward pass that are recomputed, except for `full`, which has its own block.
void recompute_part(BlockBuilder& block, const Layer& layer) {
  const Scene& scene = block.scene();
  const Recompute recompute = scene.phase.recompute;
  if (recompute != Recompute::selective && recompute != Recompute::ops) return;
  const Model& model = scene.model;
  const std::uint64_t tokens = scene.tokens();
  const std::uint64_t width = model.intermediate / scene.layout.tp;
  const DType dtype = scene.phase.dtype;
  block.norm("norms again", 8);
  // Of q, k, v, output, gate, up and down, which PyTorch multiplies one by one: the second, fourth and sixth. Sums over
  // ranks are kept, gathered tokens are not.
  const bool every_second = recompute == Recompute::ops && !model.attention.latent;
  if (every_second) {
    block.gather_tokens();
    block.gemm("k again", {tokens, scene.kv_heads() * model.attention.head_dim, model.hidden, dtype});
    block.gemm("output again", {tokens, model.hidden, scene.output_width(), dtype});
  }
  if (layer.experts) return;
  if (every_second) {
    block.gather_tokens();
    block.gemm("up again", {tokens, width, model.hidden, dtype});
  }
  block.stream("activation again", 3 * kHalfBytes * static_cast<double>(tokens * width));
}

}  // namespace

Block backward_block(const Scene& scene, const Layer& layer, double times) {
  BlockBuilder block(scene, layer.experts ? "backward of a layer with experts" : "backward of a layer", times);
  recompute_part(block, layer);
  if (layer.experts) {
    expert_gradients(block);
  } else {
    dense_gradients(block, scene.model.intermediate / scene.layout.tp, "");
  }
  block.norm("d norm", 5);
  attention_gradients(block, layer);
  block.norm("d norm", 5);
  share_gradients(block, layer);
  return block.finish();
}

}  // namespace cortado::workload
