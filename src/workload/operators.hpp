// What one GPU does in a step, as a graph of operators.
//
// A step is a list of blocks (embedding, layers, last matrix, optimizer), each done several times. A block is a graph:
// operators in the order of the GPU's stream, each with the earlier ones that it needs, and collectives beside them
// that need none (weights of the layer to come, gradients of the layer before).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "cortado/model.hpp"
#include "cortado/program.hpp"

#include "gemm/gemm.hpp"
#include "gemm/kernels.hpp"

namespace cortado {

/// GPUs that take part in a collective.
enum class RankGroup { tensor, experts, shards, replicas, stages };

/// A GEMM; several of the same shape at once, each with a matrix of its own, if there are groups.
struct GemmWork {
  GemmShape shape;           ///< of one group
  std::uint64_t groups = 1;  ///< experts
};

/// Reads and writes so many bytes once.
struct StreamWork {
  double bytes = 0;
};

struct CollectiveWork {
  Collective collective;
  Bytes bytes{};  ///< as CollectiveRequest counts them
  RankGroup group = RankGroup::tensor;
  double imbalance = 1;  ///< all-to-all: what the busiest GPU receives over the even share
};

struct Operator {
  std::string name;
  std::variant<GemmWork, AttentionShape, StreamWork, CollectiveWork> work;
  std::vector<std::size_t> needs{};         ///< earlier operators of the block
  std::vector<std::size_t> hides_behind{};  ///< of a collective: GEMMs of the block that neither need it nor are needed

  const GemmWork* gemm() const { return std::get_if<GemmWork>(&work); }
  const CollectiveWork* collective() const { return std::get_if<CollectiveWork>(&work); }
};

struct Block {
  std::string name;
  std::vector<Operator> operators;
  std::vector<CollectiveWork> beside{};
  double times = 1;   ///< in a micro-batch
  bool once = false;  ///< in a step, whatever the number of micro-batches
};

struct Step {
  std::vector<Block> blocks;
  double micro_batches = 1;
  double bubble = 0;  ///< micro-batch times in which the GPU waits
  double tokens = 0;  ///< of all replicas, new in the step
  double flops = 0;   ///< that the model needs of one GPU, nothing done twice
};

/// Of prefill, decode (one token of each sequence) or train. The layout passed check_layout.
Step step_of(const Model& model, const Layout& layout, const Phase& phase);

/// All groups in one kernel. GEMMs of f8 have results of bf16.
GemmShape joined(const GemmWork& work);

}  // namespace cortado
