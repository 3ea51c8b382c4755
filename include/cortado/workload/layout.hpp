// How a model is spread over GPUs, what is done with it, and the memory that this needs.
//
//   const Layout layout{.tp = 8};
//   const Phase phase{.kind = PhaseKind::prefill, .tokens = 8192};
//   check_layout(model, layout, phase, machine)  // divisible, and it fits
#pragma once

#include <cstdint>
#include <string_view>

#include "cortado/base/result.hpp"
#include "cortado/base/units.hpp"
#include "cortado/ir/program.hpp"
#include "cortado/machine/machine.hpp"
#include "cortado/workload/model.hpp"

namespace cortado {

/// Order in which a stage takes forward and backward passes of micro-batches.
enum class PipelineSchedule {
  one_f_one_b,
  interleaved,  ///< every GPU has several shorter stages; the bubble shrinks by their number
};

/// GPUs are counted with tp innermost, then fsdp and dp, then pp: a stage has tp x fsdp x dp of them.
struct Layout {
  std::uint32_t tp = 1;    ///< GPUs that share each layer's matrices
  bool sp = false;         ///< tp: between the matrices, tokens are divided too: all-gather and reduce-scatter
  std::uint32_t ep = 1;    ///< GPUs that the experts are divided among
  std::uint32_t fsdp = 1;  ///< replicas that keep 1/fsdp of weights, gradients and optimizer each (ZeRO-3)
  std::uint32_t dp = 1;    ///< replicas that keep everything
  std::uint32_t pp = 1;    ///< stages
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  std::uint32_t stages_per_gpu = 2;  ///< of interleaved
  std::uint32_t micro_batches = 1;   ///< of a replica and step
  std::uint32_t prefetch = 1;        ///< fsdp: layers whose weights are gathered ahead; 0: nothing hides a gather

  std::uint32_t replicas() const { return fsdp * dp; }
  std::uint32_t gpus() const { return tp * replicas() * pp; }
  /// Experts are sent tokens by all-to-all; else those of a tp group share one set of tokens.
  bool sends_tokens() const { return ep > 1 && tp == 1; }
  /// Micro-batch times in which a stage is idle, of a step.
  double bubble() const;
};

enum class PhaseKind { train, prefill, decode, generate };
std::string_view name_of(PhaseKind kind);
Result<PhaseKind> parse_phase(std::string_view name);  ///< usage.phase

/// What of the forward pass is done again in the backward pass.
enum class Recompute {
  none,
  selective,  ///< norms and activations
  ops,   ///< these and every second matrix, with the tokens that are gathered for it: per-op checkpoints of PyTorch
  full,  ///< everything: only the input of each layer is kept
};
std::string_view name_of(Recompute recompute);
Result<Recompute> parse_recompute(std::string_view name);  ///< usage.recompute

struct Phase {
  PhaseKind kind = PhaseKind::prefill;
  std::uint64_t batch = 1;    ///< sequences of a replica; train: of a micro-batch
  std::uint64_t tokens = 0;   ///< of a sequence, that are new: train, prefill, generate
  std::uint64_t context = 0;  ///< of a sequence, that are in the cache: prefill (a prefix), decode
  std::uint64_t output = 0;   ///< generate: tokens that are decoded
  Recompute recompute = Recompute::none;
  DType dtype = DType::bf16;  ///< of the GEMMs of layers
  DType kv_dtype = DType::bf16;
  bool fused_attention = true;
  /// Expert number r of a layer, counted by popularity, gets tokens in proportion to r^-skew (Zipf); 0 = all the same.
  double skew = 0;

  bool trains() const { return kind == PhaseKind::train; }
};

/// Of the GPU that needs most, bytes.
struct MemoryNeed {
  Bytes weights;
  Bytes gradients;
  Bytes optimizer;
  Bytes activations;
  Bytes cache;  ///< keys and values

  Bytes total() const { return weights + gradients + optimizer + activations + cache; }
};

MemoryNeed memory_need(const Model& model, const Layout& layout, const Phase& phase);

/// Refuses degrees that do not divide heads, experts, layers or GPUs of a node (model.layout), phases without tokens or
/// beyond the model's context (model.tokens), and what does not fit the memory, with the sizes (model.memory).
Status check_layout(const Model& model, const Layout& layout, const Phase& phase, const Machine& machine);

/// Busiest GPU's share of tokens over the even share, by the skew.
double expert_imbalance(const Experts& experts, std::uint32_t ep, double skew);

/// Parameters of one layer that a GPU keeps, without regard to fsdp.
double layer_parameters(const Model& model, const Layer& layer, const Layout& layout);

}  // namespace cortado
