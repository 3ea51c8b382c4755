// Memory of the GPU that needs most.
//
//   weights      bytes of the layers' matrices as they are stored, and of embedding and last matrix, divided by tp, pp,
//                ep
//   training     16 bytes per parameter divided by fsdp: 2 weight, 2 gradient, 12 optimizer (ZeRO, arXiv 1910.02054);
//                with fsdp also the gathered weights of 1 + prefetch layers
//   activations  what the backward pass reads, for the micro-batches in flight (pp of them); inference: of one layer
//   cache        keys and values of all tokens, divided by tp as far as there are heads
#include <algorithm>
#include <cmath>

#include "cortado/model.hpp"

namespace cortado {
namespace {

constexpr double kHalf = 2;             // bytes of a bf16 value
constexpr double kOptimizerBytes = 12;  // master weight and two moments, f32
constexpr double kLogitBytes = 6;       // bf16, and the f32 of the loss

Bytes whole_bytes(double bytes) {
  return {static_cast<std::uint64_t>(std::llround(bytes))};
}

/// Values per token that a layer keeps for its backward pass, on one GPU.
double kept_values(const Model& model, const Layer& layer, const Layout& layout, Recompute recompute) {
  const double tp = layout.tp;
  const double hidden = static_cast<double>(model.hidden) / (layout.sp ? tp : 1);
  if (recompute == Recompute::full) return hidden;
  const Attention& attention = model.attention;
  const double qkv = static_cast<double>(attention.query_width() + 2 * attention.kv_heads * attention.head_dim) / tp;
  const double output = static_cast<double>(attention.output_width()) / tp;
  double wide = static_cast<double>(model.intermediate) / tp;
  if (layer.experts) {
    const Experts& experts = *model.experts;
    wide = static_cast<double>((experts.per_token + experts.shared) * experts.intermediate) / tp;
  }
  double kept = 2 * hidden + qkv + output + 2 * wide;  // inputs of norms, of attention, of activations
  if (recompute == Recompute::none) kept += 2 * static_cast<double>(model.hidden) + wide;  // and their results
  return kept;
}

/// Parameters of a stage, with layers divided as evenly as possible, and the larger of embedding and last matrix.
double stage_parameters(const Model& model, const Layout& layout) {
  double layers = 0;
  for (const Layer& layer : model.layers) layers += layer_parameters(model, layer, layout);
  const auto embedding = static_cast<double>(model.vocabulary * model.hidden) / layout.tp;
  const double ends = layout.pp > 1 || model.tied ? embedding : 2 * embedding;
  return layers / layout.pp + ends;
}

double cached_bytes(const Model& model, const Layout& layout, const Phase& phase) {
  const auto tokens = static_cast<double>(phase.context + phase.tokens + phase.output);
  const Attention& attention = model.attention;
  const double per_layer = attention.latent ? static_cast<double>(attention.cached_values())
                                            : 2.0 * static_cast<double>(attention.head_dim) *
                                                  std::max(1.0, static_cast<double>(attention.kv_heads) / layout.tp);
  double kept = 0;
  for (const Layer& layer : model.layers) {
    kept += std::min(tokens, layer.window ? static_cast<double>(*layer.window) : tokens);
  }
  return kept / layout.pp * per_layer * static_cast<double>(phase.batch) *
         static_cast<double>(size_of(phase.kv_dtype).value);
}

/// Average bytes per weight of the layers. Engines convert weights that are stored in f32 to 16 bits.
double weight_width(const Model& model, const Phase& phase) {
  if (phase.trains()) return kHalf;
  if (phase.dtype == DType::f8) return 1;
  const ParameterCounts counts = count_parameters(model);
  if (model.weights.bits > 8 * kHalf) return kHalf;
  const double embeddings = kHalf * static_cast<double>(counts.embeddings);
  return (static_cast<double>(weight_bytes(model).value) - embeddings) /
         static_cast<double>(counts.total - counts.embeddings);
}

}  // namespace

double layer_parameters(const Model& model, const Layer& layer, const Layout& layout) {
  const double tp = layout.tp;
  double dense = static_cast<double>(attention_parameters(model)) / tp;
  const auto norms = static_cast<double>(model.norms_per_layer * model.hidden);
  if (!layer.experts) {
    return dense + static_cast<double>(feed_forward_parameters(model, model.intermediate)) / tp + norms;
  }
  const Experts& experts = *model.experts;
  const auto one = static_cast<double>(3 * model.hidden * experts.intermediate);
  dense += static_cast<double>(model.hidden * experts.count) + static_cast<double>(experts.shared) * one / tp;
  const double divided = layout.ep > 1 ? layout.ep : tp;
  return dense + norms + static_cast<double>(experts.count) * one / divided;
}

MemoryNeed memory_need(const Model& model, const Layout& layout, const Phase& phase) {
  const double parameters = stage_parameters(model, layout);
  const auto embedding = static_cast<double>(model.vocabulary * model.hidden) / layout.tp;
  const auto tokens = static_cast<double>(phase.batch * std::max<std::uint64_t>(phase.tokens, 1));
  const Layer& last = model.layers.back();
  MemoryNeed need;
  if (!phase.trains()) {
    const double ends = layout.pp > 1 || model.tied ? embedding : 2 * embedding;
    need.weights = whole_bytes((parameters - ends) * weight_width(model, phase) + ends * kHalf);
    need.activations = whole_bytes(tokens * kHalf * kept_values(model, last, layout, Recompute::none) +
                                   static_cast<double>(phase.batch * model.vocabulary) / layout.tp * kLogitBytes);
    need.cache = whole_bytes(cached_bytes(model, layout, phase));
    return need;
  }
  const double kept = parameters / layout.fsdp;
  double gathered = 0;
  if (layout.fsdp > 1) {
    gathered = std::max((1.0 + layout.prefetch) * layer_parameters(model, last, layout), embedding);
  }
  need.weights = whole_bytes(kHalf * (kept + gathered));
  need.gradients = whole_bytes(kHalf * (kept + (layout.fsdp > 1 ? layer_parameters(model, last, layout) : 0)));
  need.optimizer = whole_bytes(kOptimizerBytes * kept);
  double values = 0;
  for (const Layer& layer : model.layers) values += kept_values(model, layer, layout, phase.recompute);
  if (phase.recompute != Recompute::none) values += kept_values(model, last, layout, Recompute::none);
  const double in_flight = std::min(layout.pp, layout.micro_batches);
  need.activations = whole_bytes(tokens * (kHalf * values / layout.pp * in_flight +
                                           kLogitBytes * static_cast<double>(model.vocabulary) / layout.tp));
  return need;
}

}  // namespace cortado
