// One forward pass through a layer of a Llama or of a mixture of experts like Mixtral, tensor-parallel with rows of
// activations divided among the ranks (sequence parallel), as one program; and the programs before the first and behind
// the last layer.
//
//   h = rms_norm(x)            own rows
//   all-gather h, then GEMM    q, k, v of the rank's heads, of all rows
//   rope, append, attention    the rank's heads and its caches of keys and values
//   GEMM, then reduce-scatter  x1 = x + sum over ranks, own rows
//   h = rms_norm(x1)           own rows
//   all-gather h, then GEMM    gate and up, the rank's columns
//   swiglu
//   GEMM, then reduce-scatter  y = x1 + sum over ranks, own rows
//
// With experts the last three lines are
//
//   all-gather h, then GEMM    logits of the router, and gate and up of the rank's experts, side by side
//   route; swiglu, scale       gates of all experts; of each expert of the rank, times its gate
//   GEMM, then reduce-scatter  down of the rank's experts, one below another: the sum over k is that over experts
//
// Tokens so reach the experts by an all-gather and come back by a reduce-scatter, as the all-gather back end of serving
// engines does it, and every expert multiplies every row: which rows it needs is known only when the program runs, and
// a program has the same commands whatever the data.
//
// Every GEMM with its collective is a pair, planned by whoever is asked (PairPlanner): any overlap strategy that makes
// one program of it. Pairs and the kernels between them follow each other on the host of every rank, which is enough:
// by rule 4 of a program the host of a rank goes on when the rank's outputs are complete and its inputs no longer read.
// The contract of the whole is the formula above, whatever the pairs do.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/plan.hpp"
#include "cortado/program.hpp"
#include "cortado/result.hpp"

namespace cortado {

struct LayerShape {
  std::uint64_t hidden = 0;
  std::uint64_t heads = 0;
  std::uint64_t kv_heads = 0;
  std::uint64_t head_dim = 0;
  std::uint64_t intermediate = 0;  ///< of one expert, where there are experts
  std::uint64_t vocabulary = 0;
  std::uint64_t epsilon = 10'000;  ///< of norms, in units of 1e-9: that of Llama 3
  std::uint64_t theta = 500'000;   ///< of rotary embeddings: that of Llama 3
  std::uint64_t experts = 0;       ///< 0: one feed-forward part, whose columns the ranks share
  std::uint64_t top_k = 0;         ///< experts of a token
  friend bool operator==(const LayerShape&, const LayerShape&) = default;
};

/// A pass: `rows` tokens of all sequences, the same number of each, which stand sequence by sequence.
struct PassRequest {
  LayerShape shape;
  std::uint64_t sequences = 1;
  std::uint64_t rows = 0;
  std::uint64_t capacity = 0;  ///< tokens of a sequence that the caches have room for
  std::uint32_t ranks = 0;     ///< 0 = all GPUs of the machine; 1: no collectives, no pairs
};

/// The program of a GEMM that needs an all-gather, or of a reduce-scatter that needs a GEMM, in f32.
using PairPlanner = std::function<Result<Program>(const OverlapProblem& problem)>;

/// One after the other: the collective library's program, or plain copies where the machine does not say what its
/// library does, and the GEMM.
inline constexpr const char* kSerialPairs = "serial";

/// What the caller of a rank writes and reads.
struct LayerRank {
  Region x, y;          ///< own rows of hidden elements
  Region norm1, norm2;  ///< one row
  Region qkv, o;        ///< weights: hidden x (q, k, v of the rank's heads), (heads) x hidden
  /// hidden x (gate, up), intermediate x hidden: the rank's columns and rows. With experts: hidden x (router; gate, up
  /// of each expert of the rank), and their down matrices one below another.
  Region gate_up, down;
  Region positions;     ///< of all rows
  Region keys, values;  ///< caches: sequences x capacity rows; new rows are added
};
struct LayerProgram {
  Program program;
  std::vector<LayerRank> ranks;
};

/// Without a planner pairs are serial. Refuses heads, columns and rows that the ranks do not divide (layer.shape), and
/// what pairs are refused for.
Result<LayerProgram> plan_layer(const PassRequest& request, const Machine& machine, const PairPlanner& pairs = {});

struct EmbeddingRank {
  Region tokens;  ///< of own rows
  Region table;   ///< vocabulary x hidden
  Region x;       ///< own rows
};
struct EmbeddingProgram {
  Program program;
  std::vector<EmbeddingRank> ranks;
};
Result<EmbeddingProgram> plan_embedding(const PassRequest& request, const Machine& machine);

/// Norm, logits and the most likely token of every row, on every rank.
struct HeadRank {
  Region x;       ///< own rows
  Region norm;    ///< one row
  Region weight;  ///< hidden x the rank's columns of the vocabulary
  Region logits;  ///< of all rows
  Region tokens;  ///< of all rows
};
struct HeadProgram {
  Program program;
  std::vector<HeadRank> ranks;
};
Result<HeadProgram> plan_head(const PassRequest& request, const Machine& machine, const PairPlanner& pairs = {});

}  // namespace cortado
