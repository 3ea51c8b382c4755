// Blocks of a step: what a layer does in the forward and backward pass.
#pragma once

#include <string>
#include <vector>

#include "workload/operators.hpp"

namespace cortado::workload {

/// The context in which blocks are built.
struct Scene {
  const Model& model;
  const Layout& layout;
  const Phase& phase;

  std::uint64_t tokens() const;  ///< new ones of a micro-batch
  std::uint64_t heads() const { return model.attention.heads / layout.tp; }
  std::uint64_t kv_heads() const;   ///< on this GPU, at least one
  std::uint64_t qkv_width() const;  ///< columns of queries, keys and values
  std::uint64_t output_width() const { return model.attention.output_width() / layout.tp; }
  double activation_bytes() const;                                      ///< of the hidden state of all tokens, in bf16
  double own_share() const { return layout.sp ? 1.0 / layout.tp : 1; }  ///< of the tokens, between matrices
};

/// Appends operators to a block, each depending on the previous one unless stated otherwise.
class BlockBuilder {
 public:
  BlockBuilder(const Scene& scene, std::string name, double times);

  std::size_t gemm(std::string name, const GemmShape& shape, std::uint64_t groups = 1);
  /// With operands that have already been cast: gradients of weights.
  std::size_t weight_gradient(std::string name, const GemmShape& shape, std::uint64_t groups = 1);
  std::size_t attention(std::string name, const AttentionShape& shape);
  std::size_t stream(std::string name, double bytes);
  std::size_t collective(std::string name, CollectiveWork work);
  /// The collective may overlap the GEMM.
  void hide(std::size_t collective, std::size_t behind);
  void beside(CollectiveWork work) { block_.beside.push_back(work); }

  /// Before a GEMM: gathers the tokens of all tp ranks, if they are divided (sp).
  void gather_tokens();
  /// After a GEMM of which every tp rank computes a part: sums the parts; returns the index of the collective, if there
  /// is one.
  std::optional<std::size_t> sum_parts();
  /// For a layer with fsdp: alongside the previous block, or in line if nothing is prefetched.
  void gather_weights(Bytes bytes);
  void norm(std::string name, double passes);

  const Scene& scene() const { return scene_; }
  Block finish() { return std::move(block_); }

 private:
  std::size_t add(Operator op);

  const Scene& scene_;
  Block block_;
};

/// Pairs of a query and a key that it sees, for one head and sequence: `fresh` queries after `cached` tokens.
double visible_pairs(std::uint64_t fresh, std::uint64_t cached, const std::optional<std::uint64_t>& window);

AttentionShape attention_of(const Scene& scene, const Layer& layer, bool backward);

/// Tokens and rows of the experts of a GPU.
struct ExpertRows {
  std::uint64_t groups = 1;  ///< experts that get any tokens
  std::uint64_t rows = 1;    ///< of each
  double sent_rows = 0;      ///< total that a GPU sends, on average
  double imbalance = 1;
  std::uint64_t width = 0;  ///< of an expert on this GPU
};
ExpertRows expert_rows(const Scene& scene);

Block forward_block(const Scene& scene, const Layer& layer, double times);
Block backward_block(const Scene& scene, const Layer& layer, double times);

}  // namespace cortado::workload
