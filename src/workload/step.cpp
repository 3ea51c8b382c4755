#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "workload/layers.hpp"

namespace cortado {
namespace {

using workload::BlockBuilder;
using workload::Scene;

constexpr double kOptimizerTraffic = 30;  // bytes per parameter: gradient, three f32 in, three f32 and the weight out
constexpr double kLossTraffic = 12;       // bytes per logit: read, softmax in f32, gradient
// Bytes per logit of the sampler of vLLM, whose steps are kernels of PyTorch in f32: from bf16 (2 + 4), divided by the
// temperature (8), softmax (8), exponential noise (4), divided by it (12), the largest (4).
constexpr double kSampleTraffic = 42;

/// Layers of one kind in a stage, divided as evenly as possible.
struct LayerKind {
  Layer layer;
  double times = 0;
};

std::vector<LayerKind> layer_kinds(const Model& model, const Layout& layout) {
  std::vector<LayerKind> kinds;
  for (const Layer& layer : model.layers) {
    const auto same = std::ranges::find_if(kinds, [&](const LayerKind& kind) {
      return kind.layer.experts == layer.experts && kind.layer.window == layer.window;
    });
    if (same == kinds.end()) {
      kinds.push_back({layer, 1});
    } else {
      same->times += 1;
    }
  }
  for (LayerKind& kind : kinds) kind.times /= layout.pp;
  return kinds;
}

/// Including the weights that fsdp gathers for it.
Block head_block(const Scene& scene, bool backward) {
  const Model& model = scene.model;
  const Layout& layout = scene.layout;
  const bool trains = scene.phase.trains();
  const std::uint64_t rows = trains ? scene.tokens() : scene.phase.batch;
  const std::uint64_t columns = model.vocabulary / layout.tp;
  const GemmShape logits{rows, columns, model.hidden, DType::bf16};
  // Only one stage of pp has it; the slowest one sets the pace.
  BlockBuilder block(scene, backward ? "backward of the last matrix" : "last matrix", 1);
  if (!backward) block.norm("norm", 2);
  if (backward) {
    block.gemm("logits d input", {rows, model.hidden, columns, DType::bf16});
    block.gemm("logits d weights", {model.hidden, columns, rows, DType::bf16});
  } else {
    block.gather_tokens();
    block.gemm("logits", logits);
    if (trains) block.stream("loss", kLossTraffic * static_cast<double>(rows * columns));
    if (!trains && layout.tp > 1) {
      block.collective("gather logits", {.collective = "all-gather", .bytes = {2 * rows * columns * layout.tp}});
    }
    if (!trains) block.stream("sample", kSampleTraffic * static_cast<double>(rows * model.vocabulary));
  }
  const Bytes weights{2 * columns * model.hidden};
  if (trains && layout.fsdp > 1) {
    if (!backward) block.gather_weights(weights);
    if (backward) block.beside({.collective = "reduce-scatter", .bytes = weights, .group = RankGroup::shards});
  }
  if (trains && backward && layout.dp > 1) {
    block.beside({.collective = "all-reduce", .bytes = weights / layout.fsdp, .group = RankGroup::replicas});
  }
  return block.finish();
}

Block embedding_block(const Scene& scene) {
  BlockBuilder block(scene, "embedding", 1);
  block.stream("embedding", 2 * scene.activation_bytes());
  return block.finish();
}

/// Hidden states to the next stage, and their gradients back.
Block stage_block(const Scene& scene) {
  const double passes = scene.phase.trains() ? 2 : 1;
  BlockBuilder block(
      scene, "to the next stage",
      passes * (scene.layout.schedule == PipelineSchedule::interleaved ? scene.layout.stages_per_gpu : 1));
  const double bytes = scene.activation_bytes() / scene.layout.tp;
  block.collective(
      "send",
      {.collective = "point-to-point", .bytes = {static_cast<std::uint64_t>(bytes)}, .group = RankGroup::stages});
  return block.finish();
}

Block optimizer_block(const Scene& scene) {
  double parameters = 0;
  for (const Layer& layer : scene.model.layers) parameters += layer_parameters(scene.model, layer, scene.layout);
  parameters = parameters / scene.layout.pp + static_cast<double>(scene.model.vocabulary * scene.model.hidden) *
                                                  (scene.model.tied || scene.layout.pp > 1 ? 1 : 2) / scene.layout.tp;
  BlockBuilder block(scene, "optimizer", 1);
  block.stream("optimizer", kOptimizerTraffic * parameters / scene.layout.fsdp);
  Block made = block.finish();
  made.once = true;
  return made;
}

/// GEMMs and attention of the block, with forward counted once and backward twice: what training requires.
double model_flops(const Block& block) {
  double sum = 0;
  for (const Operator& op : block.operators) {
    if (op.name.ends_with(" again")) continue;
    if (const GemmWork* gemm = op.gemm()) sum += flops(gemm->shape) * static_cast<double>(gemm->groups);
    if (const auto* attention = std::get_if<AttentionShape>(&op.work)) {
      sum += flops(*attention) * (attention->backward ? 2 : 1);
    }
  }
  return sum * block.times;
}

}  // namespace

GemmShape joined(const GemmWork& work) {
  GemmShape shape = batched(work.shape, work.groups);
  if (shape.dtype == DType::f8) shape.result = DType::bf16;
  return shape;
}

Step step_of(const Model& model, const Layout& layout, const Phase& phase) {
  const bool trains = phase.trains();
  Step step;
  step.micro_batches = layout.micro_batches;
  step.bubble = layout.bubble();
  step.tokens = static_cast<double>(Scene{model, layout, phase}.tokens()) * layout.replicas() *
                (trains ? layout.micro_batches : 1);
  // In training, the batch is that of a micro-batch; in inference, that of all of them.
  Phase part = phase;
  if (!trains) part.batch = (phase.batch + layout.micro_batches - 1) / layout.micro_batches;
  const Scene scene{model, layout, part};
  const std::vector<LayerKind> kinds = layer_kinds(model, layout);
  step.blocks.push_back(embedding_block(scene));
  for (const LayerKind& kind : kinds) step.blocks.push_back(forward_block(scene, kind.layer, kind.times));
  step.blocks.push_back(head_block(scene, false));
  if (trains) {
    step.blocks.push_back(head_block(scene, true));
    for (const LayerKind& kind : kinds) step.blocks.push_back(backward_block(scene, kind.layer, kind.times));
  }
  for (const Block& block : step.blocks) step.flops += model_flops(block);
  step.flops *= step.micro_batches;
  if (trains && phase.recompute == Recompute::full) {
    for (const LayerKind& kind : kinds) {
      Block again = workload::forward_block(scene, kind.layer, kind.times);
      again.name = "layer again";
      again.beside.clear();  // its weights are already there for the backward pass
      step.blocks.push_back(std::move(again));
    }
  }
  if (layout.pp > 1) step.blocks.push_back(stage_block(scene));
  if (trains) step.blocks.push_back(optimizer_block(scene));
  return step;
}

}  // namespace cortado
