#include "pipeline/run_model/checkpoint.hpp"

#include <algorithm>
#include <cmath>

#include "base/random.hpp"

namespace cortado::pipeline {
namespace {

/// A matrix after another, each with the next seed.
class Source {
 public:
  explicit Source(std::uint64_t seed) : seeds_(seed) {}

  std::vector<float> numbers(std::uint64_t count, double least, double most) {
    Random random(seeds_.next());
    std::vector<float> all(count);
    for (float& number : all) {
      const double share = static_cast<double>(random.next() >> 11) * 0x1p-53;
      number = static_cast<float>(least + (most - least) * share);
    }
    return all;
  }

  std::vector<float> norm(std::uint64_t columns) { return numbers(columns, 0.5, 1.5); }

  Weights matrix(std::uint64_t rows, std::uint64_t columns) {
    const double bound = std::sqrt(3.0 / static_cast<double>(rows));
    return {rows, columns, numbers(rows * columns, -bound, bound)};
  }

 private:
  Random seeds_;
};

Weights transposed(const Weights& weights) {
  Weights turned{weights.columns, weights.rows, std::vector<float>(weights.numbers.size())};
  for (std::uint64_t i = 0; i < weights.rows; ++i) {
    for (std::uint64_t j = 0; j < weights.columns; ++j) turned.numbers[j * weights.rows + i] = weights.row(i)[j];
  }
  return turned;
}

/// The rank's columns of matrices with equal numbers of rows, side by side.
std::vector<float> side_by_side(const std::vector<const Weights*>& matrices, std::uint32_t rank, std::uint32_t ranks) {
  std::vector<float> all;
  for (std::uint64_t row = 0; row < matrices.front()->rows; ++row) {
    for (const Weights* matrix : matrices) {
      const std::uint64_t share = matrix->columns / ranks;
      const float* first = matrix->row(row) + rank * share;
      all.insert(all.end(), first, first + share);
    }
  }
  return all;
}

std::vector<float> rows_of_rank(const Weights& matrix, std::uint32_t rank, std::uint32_t ranks) {
  const std::uint64_t share = matrix.rows / ranks;
  return {matrix.row(rank * share), matrix.row((rank + 1) * share)};
}

}  // namespace

Checkpoint random_checkpoint(const LayerShape& shape, std::uint64_t layers, bool tied, std::uint64_t seed) {
  Source source(seed);
  Checkpoint made;
  made.embedding = {shape.vocabulary, shape.hidden, source.numbers(shape.vocabulary * shape.hidden, -1, 1)};
  const std::uint64_t q = shape.heads * shape.head_dim;
  const std::uint64_t kv = shape.kv_heads * shape.head_dim;
  for (std::uint64_t layer = 0; layer < layers; ++layer) {
    LayerWeights& weights = made.layers.emplace_back();
    weights.norm1 = source.norm(shape.hidden);
    weights.norm2 = source.norm(shape.hidden);
    weights.q = source.matrix(shape.hidden, q);
    weights.k = source.matrix(shape.hidden, kv);
    weights.v = source.matrix(shape.hidden, kv);
    weights.o = source.matrix(q, shape.hidden);
    if (shape.experts > 0) weights.router = source.matrix(shape.hidden, shape.experts);
    for (std::uint64_t part = 0; part < std::max<std::uint64_t>(1, shape.experts); ++part) {
      FeedForwardWeights& made_part = weights.parts.emplace_back();
      made_part.gate = source.matrix(shape.hidden, shape.intermediate);
      made_part.up = source.matrix(shape.hidden, shape.intermediate);
      made_part.down = source.matrix(shape.intermediate, shape.hidden);
    }
  }
  made.norm = source.norm(shape.hidden);
  made.head = tied ? transposed(made.embedding) : source.matrix(shape.hidden, shape.vocabulary);
  return made;
}

std::vector<std::uint32_t> random_prompts(std::uint64_t vocabulary, std::uint64_t count, std::uint64_t seed) {
  Random random(Random(seed).next() ^ seed);  // not the numbers of the checkpoint
  std::vector<std::uint32_t> tokens(count);
  for (std::uint32_t& token : tokens) token = static_cast<std::uint32_t>(random.below(vocabulary));
  return tokens;
}

LayerShare share_of(const LayerWeights& weights, std::uint32_t rank, std::uint32_t ranks) {
  LayerShare share{
      side_by_side({&weights.q, &weights.k, &weights.v}, rank, ranks), rows_of_rank(weights.o, rank, ranks), {}, {}};
  if (weights.router.rows == 0) {
    const FeedForwardWeights& only = weights.parts.front();
    share.gate_up = side_by_side({&only.gate, &only.up}, rank, ranks);
    share.down = rows_of_rank(only.down, rank, ranks);
    return share;
  }
  // Whole experts, and the router on every rank.
  std::vector<const Weights*> first{&weights.router};
  const std::size_t experts = weights.parts.size() / ranks;
  for (std::size_t e = rank * experts; e < (rank + 1) * experts; ++e) {
    const FeedForwardWeights& expert = weights.parts[e];
    first.push_back(&expert.gate);
    first.push_back(&expert.up);
    share.down.insert(share.down.end(), expert.down.numbers.begin(), expert.down.numbers.end());
  }
  share.gate_up = side_by_side(first, 0, 1);
  return share;
}

std::vector<float> columns_of_rank(const Weights& weights, std::uint32_t rank, std::uint32_t ranks) {
  return side_by_side({&weights}, rank, ranks);
}

}  // namespace cortado::pipeline
