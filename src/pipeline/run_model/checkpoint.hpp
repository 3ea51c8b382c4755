// Weights of a small model as seeded random numbers, and the shares of them that each rank multiplies.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/layer.hpp"

namespace cortado::pipeline {

/// Row-major.
struct Weights {
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::vector<float> numbers{};

  const float* row(std::uint64_t row) const { return numbers.data() + row * columns; }
};

struct FeedForwardWeights {
  Weights gate, up, down;
};

struct LayerWeights {
  std::vector<float> norm1, norm2;
  Weights q, k, v, o;
  Weights router;                         ///< hidden x experts, where there are experts
  std::vector<FeedForwardWeights> parts;  ///< the experts, or the only part
};

struct Checkpoint {
  Weights embedding;  ///< vocabulary x hidden
  std::vector<LayerWeights> layers;
  std::vector<float> norm;
  Weights head;  ///< hidden x vocabulary
};

/// Numbers of a matrix are uniform in +- sqrt(3 / rows), so that products keep their magnitude; embeddings in +- 1;
/// norms from 0.5 to 1.5. Every matrix has its own seed.
Checkpoint random_checkpoint(const LayerShape& shape, std::uint64_t layers, bool tied, std::uint64_t seed);

/// Numbers of tokens.
std::vector<std::uint32_t> random_prompts(std::uint64_t vocabulary, std::uint64_t count, std::uint64_t seed);

/// What one rank of several multiplies, as the programs of plan/layer.hpp take it.
struct LayerShare {
  std::vector<float> qkv, o, gate_up, down;
};
LayerShare share_of(const LayerWeights& weights, std::uint32_t rank, std::uint32_t ranks);
std::vector<float> columns_of_rank(const Weights& weights, std::uint32_t rank, std::uint32_t ranks);

}  // namespace cortado::pipeline
