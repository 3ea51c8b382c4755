// What one GPU does in a step, as a graph of operators.
//
// A step is a list of blocks (embedding, layers, last matrix, optimizer), each executed several times. A block is a
// graph: operators in the order of the GPU's stream, each with the earlier ones that it needs, and independent
// collectives that run alongside (weights of the next layer, gradients of the previous layer).
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

/// A GEMM; if there are groups, several of the same shape at once, each with its own matrix.
struct GemmWork {
  GemmShape shape;           ///< of one group
  std::uint64_t groups = 1;  ///< experts
};

/// Reads and writes this many bytes once.
struct StreamWork {
  double bytes = 0;
};

struct CollectiveWork {
  Collective collective;
  Bytes bytes{};  ///< counted as in CollectiveRequest
  RankGroup group = RankGroup::tensor;
  double imbalance = 1;  ///< all-to-all: what the busiest GPU receives, divided by the even share
};

struct Operator {
  std::string name;
  std::variant<GemmWork, AttentionShape, StreamWork, CollectiveWork> work;
  std::vector<std::size_t> needs{};         ///< earlier operators of the block
  std::vector<std::size_t> hides_behind{};  ///< of a collective: GEMMs of the block that are independent of it

  const GemmWork* gemm() const { return std::get_if<GemmWork>(&work); }
  const CollectiveWork* collective() const { return std::get_if<CollectiveWork>(&work); }
};

struct Block {
  std::string name;
  std::vector<Operator> operators;
  std::vector<CollectiveWork> beside{};
  double times = 1;   ///< per micro-batch
  bool once = false;  ///< per step, whatever the number of micro-batches
};

struct Step {
  std::vector<Block> blocks;
  double micro_batches = 1;
  double bubble = 0;  ///< micro-batch times for which the GPU waits
  double tokens = 0;  ///< new in the step, over all replicas
  double flops = 0;   ///< that the model requires of one GPU, without recomputation
};

/// A step of prefill, decode (one token per sequence) or train. The layout must have passed check_layout.
Step step_of(const Model& model, const Layout& layout, const Phase& phase);

/// All groups in one kernel. GEMMs in f8 have bf16 results.
GemmShape joined(const GemmWork& work);

}  // namespace cortado
