// The choice that a library makes among its kernels: of all tiles and splits the least estimated time. Of those that
// are nearly as fast it takes the one whose waves leave the fewest compute units idle, then the largest tile; where the
// memory sets the pace idle units cost nothing, and the largest tile comes first.
#include <algorithm>
#include <limits>
#include <tuple>
#include <vector>

#include "gemm/gemm.hpp"
#include "gemm/matrix_timing.hpp"
#include "gemm/real.hpp"

namespace cortado {
namespace {

constexpr double kNearlyAsFast = 1.01;
constexpr std::uint64_t kNarrow = 64;  // a side that kernels have for any extent

/// Half of the tile or more would be padding, and there is a smaller one.
bool is_too_wide(std::uint64_t tile, std::uint64_t extent) {
  return tile >= 2 * extent && tile > kNarrow;
}

/// Rows or columns that tiles take along an extent in so many parts.
std::uint64_t taken(std::uint64_t extent, std::uint64_t parts, std::uint64_t tile) {
  if (parts == 1) return extent;
  const std::uint64_t part = (extent + parts - 1) / parts;
  return parts * ((part + tile - 1) / tile) * tile;
}

/// Tiles that kernels exist for.
bool exists(const ComputeTiming& compute, std::uint64_t tile_m, std::uint64_t tile_n) {
  const auto is_anchor = [&](std::uint64_t side) { return std::ranges::count(compute.anchor_sides, side) > 0; };
  return (is_anchor(tile_m) || is_anchor(tile_n)) && tile_m * tile_n <= compute.most_tile;
}

/// Kernels whose tiles wait or release come with one tile, the largest that is not too wide: 128 x 256 in kraken and in
/// Flux on H100.
std::uint64_t largest_tile(const GemmShape& shape, const ComputeTiming& compute, const ProductCut& cut) {
  std::uint64_t largest = 0;
  for (const std::uint64_t tile_m : compute.anchor_sides) {
    for (const std::uint64_t tile_n : compute.anchor_sides) {
      const bool fits =
          !is_too_wide(tile_m, shape.m / cut.row_parts) && !is_too_wide(tile_n, shape.n / cut.column_parts);
      if (fits && tile_m * tile_n <= compute.most_tile) largest = std::max(largest, tile_m * tile_n);
    }
  }
  return largest;
}

struct Candidate {
  Tiling tiling;
  double seconds = 0;
  double idle = 0;  // share of the compute units over all waves
};

double idle_share(std::uint64_t workgroups, std::uint32_t units) {
  const std::uint64_t waves = (workgroups + units - 1) / units;
  return 1 - static_cast<double>(workgroups) / static_cast<double>(waves * units);
}

Tiling fastest_at(double clock, const GemmShape& whole, const Machine& machine, std::uint32_t units,
                  const ProductCut& cut) {
  const ComputeTiming& compute = *machine.timing->compute;
  // Where tiles fill the GPU twice, partial sums would only cost; once where the machine does not say what they cost.
  const std::uint64_t most_split_tiles = (compute.split_time.value > 0 ? 2 : 1) * std::uint64_t{units};
  std::vector<Candidate> candidates;
  double least = std::numeric_limits<double>::infinity();
  const std::vector<std::uint32_t>& sides = cut.whole_tiles ? compute.anchor_sides : compute.tile_sides;
  const std::uint64_t least_tile = cut.whole_tiles ? largest_tile(whole, compute, cut) : 0;
  for (const std::uint64_t tile_m : sides) {
    if (is_too_wide(tile_m, group_rows(whole) / cut.row_parts)) continue;
    for (const std::uint64_t tile_n : sides) {
      if (is_too_wide(tile_n, whole.n / cut.column_parts) || !exists(compute, tile_m, tile_n)) continue;
      if (tile_m * tile_n < least_tile) continue;
      GemmShape shape = whole;
      shape.m = taken(whole.m, cut.row_parts, tile_m);
      shape.n = taken(whole.n, cut.column_parts, tile_n);
      const std::uint64_t tiles = workgroups(shape, {tile_m, tile_n, 1});
      for (const std::uint64_t split : compute.splits) {
        if (split > 1 && (cut.whole_tiles || shape.k < split * compute.least_depth || tiles >= most_split_tiles)) break;
        const Tiling tiling{tile_m, tile_n, split};
        double seconds = GemmModel(shape, tiling, machine, L2Windows::ample).in_waves(units, clock).seconds;
        if (cut.whole_tiles) {
          const double waves = real(tiles) / units;
          seconds *= rounded_waves(waves, 1) / rounded_waves(waves, compute.wave_rounding);
        }
        least = std::min(least, seconds);
        if (seconds > least * kNearlyAsFast) continue;
        candidates.push_back({tiling, seconds, idle_share(tiles * split, units)});
      }
    }
  }
  std::erase_if(candidates, [least](const Candidate& c) { return c.seconds > least * kNearlyAsFast; });
  const bool by_size = is_memory_bound(whole, machine);
  const auto rank = [by_size](const Candidate& c) {
    const double size = -static_cast<double>(c.tiling.tile_m * c.tiling.tile_n);
    return by_size ? std::tuple(size, c.idle, c.seconds) : std::tuple(c.idle, size, c.seconds);
  };
  return std::ranges::min_element(candidates, {}, rank)->tiling;
}

}  // namespace

Tiling choose_tiling(const GemmShape& shape, const Machine& machine, std::uint32_t units, const ProductCut& cut) {
  const double usual = sustained_clock_ghz(shape.dtype, machine);
  const Tiling tiling = fastest_at(usual, shape, machine, units, cut);
  if (machine.clock == ClockMode::fixed || !machine.power || !machine.power->xcd) return tiling;
  // Libraries were tuned on the hardware, where short products and those that the memory bounds run at higher clocks.
  constexpr double kSameClock = 1.1;
  const double clock = gemm_clock_ghz(GemmModel(shape, tiling, machine, L2Windows::ample), shape, machine, units);
  return clock > usual * kSameClock ? fastest_at(clock, shape, machine, units, cut) : tiling;
}

}  // namespace cortado
