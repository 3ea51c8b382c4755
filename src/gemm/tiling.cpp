// The choice that a library makes among its kernels: of all tiles and splits the least estimated time. Of those that
// are nearly as fast it takes the one whose waves leave the fewest compute units idle, then the largest tile.
#include <algorithm>
#include <array>
#include <tuple>
#include <vector>

#include "cortado/gemm/gemm.hpp"

#include "gemm/matrix_timing.hpp"

namespace cortado {
namespace {

constexpr std::array<std::uint64_t, 4> kTileSides{256, 128, 64, 32};
constexpr double kNearlyAsFast = 1.01;

/// Half of the tile or more would be padding, and there is a smaller one.
bool is_too_wide(std::uint64_t tile, std::uint64_t extent) {
  return tile >= 2 * extent && tile > kTileSides.back();
}

/// Rows or columns that tiles take along an extent in so many parts.
std::uint64_t taken(std::uint64_t extent, std::uint64_t parts, std::uint64_t tile) {
  if (parts == 1) return extent;
  const std::uint64_t part = (extent + parts - 1) / parts;
  return parts * ((part + tile - 1) / tile) * tile;
}

struct Candidate {
  Tiling tiling;
  double seconds = 0;
  double idle = 0;  // share of the compute units over all waves
};

}  // namespace

Tiling choose_tiling(const GemmShape& whole, const Machine& machine, std::uint32_t units, const ProductCut& cut) {
  std::vector<Candidate> candidates;
  double least = 0;
  for (const std::uint64_t tile_m : kTileSides) {
    for (const std::uint64_t tile_n : kTileSides) {
      if (is_too_wide(tile_m, whole.m / cut.row_parts) || is_too_wide(tile_n, whole.n / cut.column_parts)) continue;
      GemmShape shape = whole;
      shape.m = taken(whole.m, cut.row_parts, tile_m);
      shape.n = taken(whole.n, cut.column_parts, tile_n);
      for (std::uint64_t split = 1; split <= kMostSplits; split *= 2) {
        const Tiling tiling{tile_m, tile_n, split};
        const bool splits = split > 1;
        if (splits && shape.k < split * kLeastDepth) break;
        // Where tiles fill the GPU already, partial sums would only cost.
        if (splits && workgroups(shape, {tile_m, tile_n, 1}) >= units) break;
        const GemmEstimate estimate = estimate_gemm(shape, tiling, machine, units, L2Windows::ample);
        const auto places = static_cast<double>(estimate.waves) * units;
        const double idle = 1 - static_cast<double>(workgroups(shape, tiling)) / places;
        candidates.push_back({tiling, estimate.seconds, idle});
        least = candidates.size() == 1 ? estimate.seconds : std::min(least, estimate.seconds);
      }
    }
  }
  std::erase_if(candidates, [least](const Candidate& c) { return c.seconds > least * kNearlyAsFast; });
  const auto rank = [](const Candidate& c) {
    return std::tuple(c.idle, ~(c.tiling.tile_m * c.tiling.tile_n), c.seconds);
  };
  return std::ranges::min_element(candidates, {}, rank)->tiling;
}

}  // namespace cortado
