// Transformer models, read from the config.json files of Hugging Face: the GEMMs of a layer, its KV cache, and the
// number of parameters.
//
//   const Model model = load_model("llama-3.1-70b").value();
//   count_parameters(model).total  // 70.6e9
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/program.hpp"
#include "cortado/result.hpp"

namespace cortado {

/// Multi-head latent attention (DeepSeek): queries, keys and values pass through narrow matrices, and only the narrow
/// form of keys and values is cached.
struct LatentAttention {
  std::uint64_t query_rank = 0;  ///< 0: queries are projected in one step
  std::uint64_t kv_rank = 0;
  std::uint64_t nope_dim = 0;  ///< of a head's query and key, without position
  std::uint64_t rope_dim = 0;  ///< with position; the key's part is shared by all heads
  std::uint64_t value_dim = 0;
};

struct Attention {
  std::uint64_t heads = 0;
  std::uint64_t kv_heads = 0;
  std::uint64_t head_dim = 0;  ///< heads x head_dim need not be the hidden size
  bool qkv_bias = false;
  bool output_bias = false;
  bool qk_norm = false;  ///< queries and keys are normalised per head
  bool sinks = false;    ///< a learned value per head that is part of the softmax
  std::optional<LatentAttention> latent{};

  std::uint64_t query_width() const;   ///< columns of all heads' queries
  std::uint64_t output_width() const;  ///< columns of the output projection's input
  /// Values that a token adds to the cache of one layer.
  std::uint64_t cached_values() const;
};

/// The feed-forward part of a mixture of experts.
struct Experts {
  std::uint64_t count = 0;
  std::uint64_t per_token = 0;     ///< experts that the router picks
  std::uint64_t shared = 0;        ///< experts that every token uses
  std::uint64_t intermediate = 0;  ///< width of one expert
  bool bias = false;               ///< of the experts and of the router
  bool correction_bias = false;    ///< one value per expert that only affects the choice
};

struct Layer {
  bool experts = false;                   ///< otherwise one dense feed-forward part
  std::optional<std::uint64_t> window{};  ///< tokens that attention looks back at; none: all
};

/// How weights are stored.
struct WeightFormat {
  std::string name;           ///< "bf16", "f16", "f32", "fp8", "mxfp4"
  double bits = 16;           ///< per weight of the GEMMs it applies to, including scales
  bool experts_only = false;  ///< everything else is bf16
};

/// The default type of the GEMMs: fp8 and f16 as stored, everything else in bf16.
DType usual_type(const WeightFormat& weights);

struct Model {
  std::string name;
  std::string family;  ///< model_type
  std::string file;    ///< where it was read from, or "built in"
  std::uint64_t hidden = 0;
  std::uint64_t vocabulary = 0;
  std::uint64_t context = 0;       ///< maximum, in tokens
  std::uint64_t intermediate = 0;  ///< of dense layers
  bool mlp_bias = false;
  bool tied = false;                  ///< the last matrix is the transposed embedding
  std::uint32_t norms_per_layer = 2;  ///< of hidden width
  Attention attention;
  std::optional<Experts> experts{};
  std::vector<Layer> layers;
  WeightFormat weights;

  std::uint64_t layers_with_experts() const;
};

struct ParameterCounts {
  std::uint64_t total = 0;
  std::uint64_t active = 0;      ///< used by one token, including the embedding and the last matrix
  std::uint64_t embeddings = 0;  ///< embedding and last matrix
};

ParameterCounts count_parameters(const Model& model);

/// Parameters of the attention of one layer.
std::uint64_t attention_parameters(const Model& model);
/// Parameters of one dense feed-forward part, or of one expert, of this width.
std::uint64_t feed_forward_parameters(const Model& model, std::uint64_t intermediate);

/// Bytes of all weights as stored.
Bytes weight_bytes(const Model& model);

/// KV cache of all layers per token, at `value_bytes` per value, ignoring windows.
Bytes kv_bytes_per_token(const Model& model, Bytes value_bytes);

/// Names of the built-in models, sorted.
std::vector<std::string> model_names();

/// A built-in model by name, or a config.json by path (anything with a '/' or ending in .json). Unknown names are
/// refused with the nearest known ones (model.unknown).
Result<Model> load_model(const std::string& name_or_path);

/// A model from the text of a config.json. Refuses invalid JSON (model.json), unknown families
/// (model.family), and missing or invalid fields, which are named (model.field).
Result<Model> parse_model(const std::string& text, const std::string& file);

// --- Layouts and phases ----------------------------------------------------------------------------------------------
//
// How a model is distributed over GPUs, what it computes, and the memory that this needs.
//
//   const Layout layout{.tp = 8};
//   const Phase phase{.kind = PhaseKind::prefill, .tokens = 8192};
//   check_layout(model, layout, phase, machine)  // divisible, and it fits

/// Order in which a stage runs forward and backward passes of micro-batches.
enum class PipelineSchedule {
  one_f_one_b,
  interleaved,  ///< every GPU has several shorter stages; the bubble shrinks by their number
};

/// GPUs are counted with tp innermost, then fsdp and dp, then pp: a stage has tp x fsdp x dp of them.
struct Layout {
  std::uint32_t tp = 1;    ///< GPUs that share each layer's matrices
  bool sp = false;         ///< tp: between the GEMMs, tokens are divided too: all-gather and reduce-scatter
  std::uint32_t ep = 1;    ///< GPUs that the experts are divided among
  std::uint32_t fsdp = 1;  ///< replicas that each keep 1/fsdp of weights, gradients and optimizer (ZeRO-3)
  std::uint32_t dp = 1;    ///< replicas that keep everything
  std::uint32_t pp = 1;    ///< stages
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  std::uint32_t stages_per_gpu = 2;  ///< of interleaved
  std::uint32_t micro_batches = 1;   ///< per replica and step
  std::uint32_t prefetch = 1;        ///< fsdp: layers whose weights are gathered in advance; 0: nothing hides a gather

  std::uint32_t replicas() const { return fsdp * dp; }
  std::uint32_t gpus() const { return tp * replicas() * pp; }
  /// All-to-alls send tokens to experts; otherwise the experts of a tp group share one set of tokens.
  bool sends_tokens() const { return ep > 1 && tp == 1; }
  /// Idle time of a stage per step, in micro-batch times.
  double bubble() const;
};

enum class PhaseKind { train, prefill, decode, generate };
std::string_view name_of(PhaseKind kind);
Result<PhaseKind> parse_phase(std::string_view name);  ///< usage.phase

/// Which parts of the forward pass are recomputed in the backward pass.
enum class Recompute {
  none,
  selective,  ///< norms and activations
  ops,        ///< these and every second GEMM, with the tokens gathered for it: per-op checkpoints of PyTorch
  full,       ///< everything: only the input of each layer is stored
};
std::string_view name_of(Recompute recompute);
Result<Recompute> parse_recompute(std::string_view name);  ///< usage.recompute

struct Phase {
  PhaseKind kind = PhaseKind::prefill;
  std::uint64_t batch = 1;    ///< sequences per replica; train: per micro-batch
  std::uint64_t tokens = 0;   ///< new tokens of a sequence: train, prefill, generate
  std::uint64_t context = 0;  ///< cached tokens of a sequence: prefill (a prefix), decode
  std::uint64_t output = 0;   ///< generate: decoded tokens
  Recompute recompute = Recompute::none;
  DType dtype = DType::bf16;  ///< of the GEMMs of layers
  DType kv_dtype = DType::bf16;
  bool fused_attention = true;
  /// The r-th most popular expert of a layer gets tokens in proportion to r^-skew (Zipf); 0 = uniform.
  double skew = 0;

  bool trains() const { return kind == PhaseKind::train; }
};

/// Bytes of the GPU that needs the most.
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
/// beyond the model's context (model.tokens), and models that do not fit the memory, with the sizes (model.memory).
Status check_layout(const Model& model, const Layout& layout, const Phase& phase, const Machine& machine);

/// The busiest GPU's share of tokens relative to the even share, given the skew.
double expert_imbalance(const Experts& experts, std::uint32_t ep, double skew);

/// Parameters of one layer that a GPU keeps, ignoring fsdp.
double layer_parameters(const Model& model, const Layer& layer, const Layout& layout);

}  // namespace cortado
