#include "plan/heuristic/fit/shapes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "base/random.hpp"

namespace cortado::schedules {
namespace {

constexpr std::uint64_t kRanks = 8;
constexpr std::size_t kTrainingShapes = 1200;
constexpr std::size_t kUnseenShapes = 400;
/// Of one GPU, for operands and GEMM; stagings and gathered operands need some more.
constexpr double kMemoryBytes = 80e9;

/// Sizes of a published model.
struct Transformer {
  std::uint64_t width;  ///< of the model
  std::uint64_t inner;  ///< of its feed-forward blocks, or of one expert
  std::uint64_t kv;     ///< keys, and values
  bool gated;           ///< two matrices lead into the feed-forward block
};

constexpr std::array kTrainingModels{
    Transformer{4096, 11008, 4096, true},    // Llama-2 7B
    Transformer{5120, 13824, 5120, true},    // Llama-2 13B
    Transformer{8192, 28672, 1024, true},    // Llama-2 70B
    Transformer{4096, 14336, 1024, true},    // Llama-3 8B, Mixtral 8x7B
    Transformer{16384, 53248, 1024, true},   // Llama-3 405B
    Transformer{12288, 49152, 12288, false}  // GPT-3 175B
};

constexpr std::array kUnseenModels{
    Transformer{8192, 29568, 1024, true},     // Qwen2 72B
    Transformer{5120, 27648, 1024, true},     // Qwen2.5 32B
    Transformer{6144, 16384, 1024, true},     // Mixtral 8x22B
    Transformer{7168, 18432, 7168, true},     // DeepSeek-V3, dense layers
    Transformer{12288, 28672, 1024, true},    // Mistral Large 2
    Transformer{9216, 36864, 9216, false},    // OPT 66B
    Transformer{14336, 57344, 14336, false},  // BLOOM 176B
};

struct Direction {
  Collective collective;
  Dependence dependence;
};

constexpr std::array kDirections{
    Direction{"all-gather", Dependence::collective_first}, Direction{"all-to-all", Dependence::collective_first},
    Direction{"reduce-scatter", Dependence::product_first}, Direction{"all-to-all", Dependence::product_first}};

class Generator {
 public:
  Generator(std::uint64_t seed, std::span<const Transformer> models) : random_(seed), models_(models) {}

  DependentRequest draw(const Direction& direction, bool transformer) {
    DependentRequest request;
    request.collective = direction.collective;
    request.dependence = direction.dependence;
    request.ranks = kRanks;
    request.gemm = transformer ? transformer_shape(direction) : random_shape();
    if (request.collective == "all-to-all") request.gemm.m *= kRanks;  // as many rows for a rank as after an all-gather
    request.gemm.dtype = random_.chance(2) ? DType::f16 : DType::bf16;
    return request;
  }

 private:
  /// In [low, high], equally often in every octave.
  std::uint64_t log_uniform(double low, double high) {
    const double unit = static_cast<double>(random_.next() >> 11) * 0x1p-53;
    return static_cast<std::uint64_t>(std::llround(low * std::pow(high / low, unit)));
  }

  /// 1024 to 768 Ki; one in four batches is not full.
  std::uint64_t tokens() {
    const std::uint64_t full = (random_.chance(2) ? 3ULL << 9 : 1ULL << 10) << random_.below(10);
    return random_.chance(4) ? full - random_.below(full / 4) : full;
  }

  GemmShape transformer_shape(const Direction& direction) {
    const Transformer& model = models_[random_.below(models_.size())];
    const std::uint64_t inward = model.gated ? 2 * model.inner : model.inner;
    if (direction.collective == "all-to-all") {  // experts, whole or divided among all ranks
      const std::uint64_t parts = random_.chance(2) ? 1 : kRanks;
      if (direction.dependence == Dependence::product_first) return {tokens(), model.width, model.inner / parts};
      return {tokens(), inward / parts, model.width};
    }
    if (direction.dependence == Dependence::product_first) {  // out of attention, out of the feed-forward block
      return {tokens(), model.width, (random_.chance(2) ? model.width : model.inner) / kRanks};
    }
    switch (random_.below(3)) {
      case 0:  // into attention
        return {tokens(), (model.width + 2 * model.kv) / kRanks, model.width};
      case 1:  // into the feed-forward block
        return {tokens(), inward / kRanks, model.width};
      default:  // gradient of a weight: tokens stand on k
        return {model.width, (random_.chance(2) ? model.width : model.inner) / kRanks, tokens()};
    }
  }

  GemmShape random_shape() {
    GemmShape shape{log_uniform(1024, 1 << 20), log_uniform(128, 1 << 15), log_uniform(128, 1 << 17)};
    if (random_.chance(3)) return shape;
    const auto rounded = [](std::uint64_t extent) { return std::max<std::uint64_t>(1, (extent + 32) / 64) * 64; };
    return {rounded(shape.m), rounded(shape.n), rounded(shape.k)};
  }

  Random random_;
  std::span<const Transformer> models_;
};

bool same(const DependentRequest& a, const DependentRequest& b) {
  return a.gemm == b.gemm && a.collective == b.collective && a.dependence == b.dependence;
}

bool contains(const std::vector<DependentRequest>& shapes, const DependentRequest& shape) {
  return std::any_of(shapes.begin(), shapes.end(), [&](const DependentRequest& one) { return same(one, shape); });
}

/// `count` different ones that are not among `others`.
std::vector<DependentRequest> draw_all(std::size_t count, Generator generator,
                                       const std::vector<DependentRequest>& others) {
  std::vector<DependentRequest> shapes;
  while (shapes.size() < count) {
    const std::size_t i = shapes.size();
    const bool transformer = i / kDirections.size() % 2 == 0;
    const DependentRequest shape = generator.draw(kDirections[i % kDirections.size()], transformer);
    const bool fits = static_cast<double>(operand_bytes(shape.gemm).value) <= kMemoryBytes;
    if (fits && !contains(shapes, shape) && !contains(others, shape)) shapes.push_back(shape);
  }
  return shapes;
}

}  // namespace

std::string_view name_of(ShapeSet set) {
  return set == ShapeSet::training ? "training" : "unseen";
}

std::vector<DependentRequest> shapes(ShapeSet set) {
  const std::vector<DependentRequest> training = draw_all(kTrainingShapes, Generator(2026, kTrainingModels), {});
  return set == ShapeSet::training ? training : draw_all(kUnseenShapes, Generator(7, kUnseenModels), training);
}

}  // namespace cortado::schedules
