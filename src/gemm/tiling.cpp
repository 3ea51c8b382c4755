// The choice that a library makes among its kernels: of all tiles and splits the least estimated time. Of those that
// are nearly as fast it takes the one whose waves leave the fewest compute units idle, then the largest tile; where the
// memory sets the pace idle units cost nothing, and the largest tile comes first.
#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "gemm/gemm.hpp"
#include "gemm/matrix_timing.hpp"
#include "gemm/real.hpp"

namespace cortado {
namespace {

constexpr double kNearlyAsFast = 1.01;
constexpr double kSurelySlower = 1.0101;  // whatever is rounded
constexpr std::uint64_t kNarrow = 64;     // a side that kernels have for any extent

/// Half of the tile or more would be padding, and there is a smaller one.
bool is_too_wide(std::uint64_t tile, std::uint64_t extent, std::uint64_t narrowest) {
  return tile >= 2 * extent && tile > std::max(kNarrow, narrowest);
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

struct Tile {
  std::uint64_t m = 0;
  std::uint64_t n = 0;
};

std::vector<Tile> existing_tiles(const ComputeTiming& compute, const std::vector<std::uint32_t>& sides) {
  std::vector<Tile> tiles;
  for (const std::uint64_t m : sides) {
    for (const std::uint64_t n : sides) {
      if (exists(compute, m, n)) tiles.push_back({m, n});
    }
  }
  return tiles;
}

/// Of those that kernels exist for, the ones that are not too wide; the smallest if all are. A machine has at least
/// one: see check_tiles in machine/checks.cpp.
std::vector<Tile> tiles_for(const GemmShape& shape, const ComputeTiming& compute, const ProductCut& cut) {
  std::vector<Tile> tiles;
  if (cut.whole_tiles) tiles = existing_tiles(compute, compute.anchor_sides);
  if (tiles.empty()) tiles = existing_tiles(compute, compute.tile_sides);
  CORTADO_CHECK(!tiles.empty(), "the machine has a tile");
  const auto elements = [](const Tile& tile) { return tile.m * tile.n; };
  const auto keep_only = [&](std::uint64_t size) {
    std::erase_if(tiles, [&](const Tile& tile) { return elements(tile) != size; });
  };
  const std::uint64_t least_m = std::ranges::min(tiles, {}, &Tile::m).m;
  const std::uint64_t least_n = std::ranges::min(tiles, {}, &Tile::n).n;
  const auto fits = [&](const Tile& tile) {
    return !is_too_wide(tile.m, group_rows(shape) / cut.row_parts, least_m) &&
           !is_too_wide(tile.n, shape.n / cut.column_parts, least_n);
  };
  if (std::ranges::any_of(tiles, fits)) {
    std::erase_if(tiles, std::not_fn(fits));
  } else {
    keep_only(elements(std::ranges::min(tiles, {}, elements)));
  }
  // Kernels whose tiles wait or release come with one tile, the largest: 128 x 256 in kraken and in Flux on H100.
  if (cut.whole_tiles) keep_only(elements(std::ranges::max(tiles, {}, elements)));
  return tiles;
}

/// A kernel that may be the fastest.
struct Candidate {
  Tiling tiling;
  std::uint64_t m = 0;  // rows and columns that its tiles take
  std::uint64_t n = 0;
  std::uint64_t workgroups = 0;
  double longer = 1;   // than its model says: waves that are not cut
  double seconds = 0;  // estimated, or not above that
};

double idle_share(std::uint64_t workgroups, std::uint32_t units) {
  const std::uint64_t waves = (workgroups + units - 1) / units;
  return 1 - static_cast<double>(workgroups) / static_cast<double>(waves * units);
}

/// The search for the fastest kernel of a GEMM.
class Search {
 public:
  Search(const GemmShape& whole, const Machine& machine, std::uint32_t units, double clock_ghz)
      : whole_(whole),
        machine_(machine),
        compute_(*machine.timing->compute),
        units_(units),
        clock_ghz_(clock_ghz),
        unit_flops_(unit_flops_at(clock_ghz, whole.dtype, compute_)),
        shape_(whole) {}

  /// Of `tiles` and of what splits make of them, those that are nearly as fast as the fastest.
  std::vector<Candidate> fastest(std::vector<Candidate> tiles, bool may_split) {
    for (Candidate& c : tiles) c.seconds = multiplications(c);
    estimate_first(tiles);
    for (Candidate& c : tiles) bound(c);
    estimate_first(tiles);
    std::vector<Candidate> all = may_split ? with_splits(tiles) : std::move(tiles);
    estimate_first(all);
    for (Candidate& c : all) {
      const double enough = least_ * kSurelySlower;
      if (is_too_slow(c)) continue;
      const GemmModel model = model_of(c);
      if (model.takes_longer(enough / c.longer, units_, clock_ghz_)) {
        c.seconds = enough;
        continue;
      }
      c.seconds = model.in_waves(units_, clock_ghz_).seconds * c.longer;
      least_ = std::min(least_, c.seconds);
    }
    std::erase_if(all, [this](const Candidate& c) { return c.seconds > least_ * kNearlyAsFast; });
    return all;
  }

 private:
  GemmModel model_of(const Candidate& c) {
    shape_.m = c.m;
    shape_.n = c.n;
    return {shape_, c.tiling, machine_, L2Windows::ample};
  }

  double multiplications(const Candidate& c) const {
    const double waves = rounded_waves(real(c.workgroups) / units_, compute_.wave_rounding);
    return multiply_seconds(whole_, c.tiling, waves, unit_flops_, compute_) * c.longer;
  }

  bool is_too_slow(const Candidate& c) const { return c.seconds > least_ * kSurelySlower; }

  /// Most are too slow by their multiplications alone, and most of the others by what their units take alone.
  void bound(Candidate& c) {
    if (!is_too_slow(c)) c.seconds = model_of(c).least_seconds(units_, clock_ghz_) * c.longer;
  }

  void estimate_first(const std::vector<Candidate>& candidates) {
    const Candidate& first = *std::ranges::min_element(candidates, {}, &Candidate::seconds);
    least_ = std::min(least_, model_of(first).in_waves(units_, clock_ghz_).seconds * first.longer);
  }

  /// Each tile with its splits behind it, but for those that are too slow.
  std::vector<Candidate> with_splits(const std::vector<Candidate>& tiles) {
    // Where tiles fill the GPU twice, partial sums would only cost; once where the machine does not say what they cost.
    const std::uint64_t most_tiles = (compute_.split_time.value > 0 ? 2 : 1) * std::uint64_t{units_};
    const std::vector<Split> splits = splits_in_time();
    std::vector<Candidate> all;
    all.reserve(2 * tiles.size());
    for (const Candidate& tile : tiles) {
      if (!is_too_slow(tile)) all.push_back(tile);
      if (tile.workgroups >= most_tiles) continue;
      for (const auto& [split, sums] : splits) {
        Candidate c = tile;
        c.tiling.split_k = split;
        c.workgroups *= split;
        c.seconds = multiplications(c) + sums;
        bound(c);
        if (!is_too_slow(c)) all.push_back(c);
      }
    }
    return all;
  }

  struct Split {
    std::uint64_t split_k = 1;
    double sums = 0;  // seconds
  };

  /// But for splits that are too slow whatever the tile.
  std::vector<Split> splits_in_time() const {
    const auto least_of = [&](std::uint64_t split) {
      return GemmModel(whole_, {1, 1, split}, machine_, L2Windows::ample).least_of_split(units_, clock_ghz_);
    };
    std::vector<Split> splits;
    const double unsplit = least_of(1);
    for (const std::uint64_t split : compute_.splits) {
      if (split == 1) continue;
      if (whole_.k < split * compute_.least_depth) break;
      const double least = least_of(split);
      if (least <= least_ * kSurelySlower) splits.push_back({split, least - unsplit});
    }
    return splits;
  }

  const GemmShape& whole_;
  const Machine& machine_;
  const ComputeTiming& compute_;
  const std::uint32_t units_;
  const double clock_ghz_;
  const double unit_flops_;                                 // at that clock
  GemmShape shape_;                                         // of the latest model
  double least_ = std::numeric_limits<double>::infinity();  // seconds, of what was estimated so far
};

/// All but what GEMMs beside others take, and stages. All fields by name, so that this does not compile when there
/// is one more.
auto chosen_by(const ComputeTiming& timing) {
  const auto& [dies, l2_bytes, l2_rate, unit_rate, operand_cost, tile_overhead, start, poll, wave_rounding,
               step_latency_ns, residency, overlap_sharpness, write_rate, first_bytes, split_time, split_rate,
               warm_share, tile_sides, anchor_sides, most_tile, splits, least_depth, stream_window, thrash_ramp,
               fabric_products, fabric_links, fabric_cores, stages, f32, f16, bf16, f8, i8, block_scale_efficiency] =
      timing;
  return std::tie(dies, l2_bytes, l2_rate, unit_rate, operand_cost, tile_overhead, start, wave_rounding,
                  step_latency_ns, residency, overlap_sharpness, write_rate, first_bytes, split_time, split_rate,
                  warm_share, tile_sides, anchor_sides, most_tile, splits, least_depth, stream_window, thrash_ramp,
                  block_scale_efficiency);
}

/// All of a machine that the choice depends on.
struct Ground {
  Ground(const Machine& machine, DType dtype)
      : compute(*machine.timing->compute),
        matrix(matrix_timing(compute, dtype)),
        memory_rate(machine.timing->memory.rate),
        cache_rate(machine.timing->memory.cache_rate),
        cache_bytes(machine.timing->memory.cache_bytes),
        compute_units(machine.compute_units),
        reference_ghz(reference_clock_ghz(dtype, machine)) {}

  bool is_of(const Machine& machine, DType dtype) const {
    const MatrixTiming now = matrix_timing(*machine.timing->compute, dtype);
    return memory_rate == machine.timing->memory.rate && cache_rate == machine.timing->memory.cache_rate &&
           cache_bytes == machine.timing->memory.cache_bytes && compute_units == machine.compute_units &&
           reference_ghz == reference_clock_ghz(dtype, machine) && matrix.flops_per_clock == now.flops_per_clock &&
           matrix.clock_ghz == now.clock_ghz && matrix.efficiency == now.efficiency &&
           chosen_by(compute) == chosen_by(*machine.timing->compute);
  }

  ComputeTiming compute;
  MatrixTiming matrix;
  GBps memory_rate;
  GBps cache_rate;
  Bytes cache_bytes;
  std::uint32_t compute_units;
  double reference_ghz;
};

/// What was chosen before: the plans of one study, and the studies of a sweep, ask for the same pieces over and over.
class KnownTilings {
 public:
  struct Asked {
    GemmShape shape;
    std::uint32_t units = 0;
    ProductCut cut;
    double clock_ghz = 0;
    friend bool operator==(const Asked&, const Asked&) = default;
  };

  /// Forgets everything if the machine is another.
  const Tiling* find(const Asked& asked, const Machine& machine) {
    if (!ground_ || !ground_->is_of(machine, asked.shape.dtype)) {
      ground_.emplace(machine, asked.shape.dtype);
      known_.clear();
    }
    const auto found = known_.find(asked);
    return found == known_.end() ? nullptr : &found->second;
  }

  const Tiling& add(const Asked& asked, const Tiling& tiling) {
    constexpr std::size_t kMost = 8192;
    if (known_.size() == kMost) known_.clear();
    return known_.emplace(asked, tiling).first->second;
  }

 private:
  struct Hash {
    std::size_t operator()(const Asked& asked) const {
      constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio: spreads near numbers
      std::uint64_t hash = 0;
      for (const std::uint64_t part : {asked.shape.m, asked.shape.n, asked.shape.k, std::uint64_t{asked.units},
                                       asked.cut.row_parts, asked.cut.column_parts}) {
        hash = (hash ^ part) * kOdd;
        hash ^= hash >> 32;
      }
      return static_cast<std::size_t>(hash);
    }
  };

  std::optional<Ground> ground_;
  std::unordered_map<Asked, Tiling, Hash> known_;
};

Tiling best_tiling(const GemmShape& whole, const Machine& machine, std::uint32_t units, const ProductCut& cut,
                   double clock) {
  const ComputeTiming& compute = *machine.timing->compute;
  std::vector<Candidate> unsplit;
  unsplit.reserve(compute.tile_sides.size() * compute.tile_sides.size());
  GemmShape shape = whole;
  for (const Tile& tile : tiles_for(whole, compute, cut)) {
    shape.m = taken(whole.m, cut.row_parts, tile.m);
    shape.n = taken(whole.n, cut.column_parts, tile.n);
    const std::uint64_t tiles = workgroups(shape, {tile.m, tile.n, 1});
    const double waves = real(tiles) / units;
    const double longer = cut.whole_tiles ? rounded_waves(waves, 1) / rounded_waves(waves, compute.wave_rounding) : 1.0;
    unsplit.push_back({{tile.m, tile.n, 1}, shape.m, shape.n, tiles, longer});
  }
  const std::vector<Candidate> fastest =
      Search(whole, machine, units, clock).fastest(std::move(unsplit), !cut.whole_tiles);
  const bool by_size = is_memory_bound(whole, machine);
  const auto rank = [&](const Candidate& c) {
    const double size = -static_cast<double>(c.tiling.tile_m * c.tiling.tile_n);
    const double idle = idle_share(c.workgroups, units);
    return by_size ? std::tuple(size, idle, c.seconds) : std::tuple(idle, size, c.seconds);
  };
  return std::ranges::min_element(fastest, {}, rank)->tiling;
}

Tiling fastest_at(double clock, const GemmShape& shape, const Machine& machine, std::uint32_t units,
                  const ProductCut& cut) {
  static thread_local KnownTilings known_tilings;
  const KnownTilings::Asked asked{shape, units, cut, clock};
  if (const Tiling* known = known_tilings.find(asked, machine)) return *known;
  return known_tilings.add(asked, best_tiling(shape, machine, units, cut, clock));
}

}  // namespace

Tiling choose_tiling(const GemmShape& shape, const Machine& machine, std::uint32_t units, const ProductCut& cut) {
  const double usual = sustained_clock_ghz(shape.dtype, machine);
  const Tiling tiling = fastest_at(usual, shape, machine, units, cut);
  if (machine.clock == ClockMode::fixed || !machine.power || !machine.power->xcd) return tiling;
  // Libraries were tuned on the hardware, where short GEMMs and those that the memory bounds run at higher clocks.
  constexpr double kSameClock = 1.1;
  const double clock = gemm_clock_ghz(GemmModel(shape, tiling, machine, L2Windows::ample), machine, units);
  return clock > usual * kSameClock ? fastest_at(clock, shape, machine, units, cut) : tiling;
}

}  // namespace cortado
