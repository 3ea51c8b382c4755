// What a workgroup takes. With e bytes an element, k' = k / split_k, w workgroups running on d dies, p = ceil(w / d):
//
//   products   2 tile_m tile_n k' / (flops of a unit), and operand_cost multiply-adds for every row of A, column of B
//              and step of k; the flops of a unit are those that it reaches with a tile of 256 x 256, cost included
//   L2         (tile_m + tile_n) k' e come out of it, 1/p of its rate for each
//   fabric     workgroups of a die stand in a compact block of tiles and read its rows of A and columns of B together:
//              rows(p) k' e / p, where rows(t) is the least gm tile_m + gn tile_n with gm gn = t. Besides the tile of
//              C: e an element (2 e if it accumulates); of a split product the partial sums in f32, once each way
//   memory     all dies together read rows(w) k' e / w a workgroup, at least A and B once. Of what was read before, the
//              last-level cache holds the share (its bytes - those held by others) / (bytes of A, B and C)
//   refetched  each workgroup of the die, of whichever kernel, keeps a window of its stream in L2. If p windows do not
//              fit, operands are lost before they were used: the share (p windows / L2 - 1) / thrash_ramp of them, at
//              most all, is read once more, from the memory (the last-level cache is taken not to keep streams)
//   time       the longest of products, L2 and fabric at the rate of a unit, plus the overhead of a tile
#include <algorithm>
#include <cmath>

#include "cortado/base/check.hpp"
#include "cortado/gemm/gemm.hpp"

#include "gemm/matrix_timing.hpp"
#include "gemm/real.hpp"

namespace cortado {
namespace {

constexpr double kReferenceSide = 256;  // of the tile for which machine files give the efficiency

}  // namespace

double tile_cost(const Tiling& tiling, double operand_cost) {
  const double cost = 1 + operand_cost * (1 / real(tiling.tile_m) + 1 / real(tiling.tile_n));
  return cost / (1 + operand_cost * 2 / kReferenceSide);
}

GemmModel::GemmModel(const GemmShape& shape, const Tiling& tiling, const Machine& machine, L2Windows windows,
                     ResultPath results)
    : machine_(&machine),
      shape_(shape),
      tiling_(tiling),
      tiles_m_((shape.m + tiling.tile_m - 1) / tiling.tile_m),
      tiles_n_((shape.n + tiling.tile_n - 1) / tiling.tile_n),
      workgroups_(cortado::workgroups(shape, tiling)),
      flops_per_second_(unit_flops(*machine.timing->compute, shape.dtype)),
      windows_(windows),
      results_(results) {}

/// Rows of A and columns of B that a compact block of so many tiles needs.
double GemmModel::operand_rows(double tiles) const {
  const double tile_m = real(tiling_.tile_m);
  const double tile_n = real(tiling_.tile_n);
  const double most_m = real(tiles_m_);
  const double most_n = real(tiles_n_);
  tiles = std::min(tiles, most_m * most_n);
  double along_m = std::clamp(std::sqrt(tiles * tile_n / tile_m), std::min(1.0, most_m), most_m);
  const double along_n = std::clamp(tiles / along_m, 1.0, most_n);
  along_m = std::clamp(tiles / along_n, 1.0, most_m);
  return std::min(along_m * tile_m, real(shape_.m)) + std::min(along_n * tile_n, real(shape_.n));
}

/// Share of the operands that L2 loses before their use.
double GemmModel::refetched(double per_die) const {
  if (windows_ == L2Windows::ample) return 0;
  const ComputeTiming& compute = *machine_->timing->compute;
  const double windows = per_die * real(compute.stream_window.value) / real(compute.l2_bytes.value);
  return std::clamp((windows - 1) / compute.thrash_ramp, 0.0, 1.0);
}

WorkgroupDemand GemmModel::demand(std::uint64_t running, const GemmSurroundings& beside) const {
  CORTADO_CHECK(running > 0, "a workgroup runs");
  const ComputeTiming& compute = *machine_->timing->compute;
  const MemoryTiming& memory = machine_->timing->memory;
  const double element = real(size_of(shape_.dtype).value);
  const double depth = real(shape_.k) / real(tiling_.split_k);
  const double tile = real(tiling_.tile_m) * real(tiling_.tile_n);
  const double per_die = std::ceil(real(running) / compute.dies);
  const double all_per_die = std::ceil(real(running + beside.streams) / compute.dies);

  const double again = 1 + refetched(all_per_die);
  const double of_die = operand_rows(per_die) * depth * element / per_die * again;
  const bool cached = results_ == ResultPath::cached;
  const double sums = shape_.accumulate ? 2 * element : element;
  const double result =
      cached ? tile * (tiling_.split_k == 1 ? sums : 2 * sizeof(float) + sums / real(tiling_.split_k)) : 0;
  const double written =
      cached ? tile * (tiling_.split_k == 1 ? element : sizeof(float) + element / real(tiling_.split_k)) : 0;

  const double once = (real(shape_.m) + real(shape_.n)) * real(shape_.k) * element / real(workgroups_);
  const double of_wave = std::max(once, operand_rows(real(running)) * depth * element / real(running));
  const double cache = std::max(0.0, real(memory.cache_bytes.value) - real(beside.cache_held.value));
  const Bytes operands = cached ? operand_bytes(shape_) : read_bytes(shape_);
  const double held = std::min(1.0, cache / real(operands.value));

  WorkgroupDemand demand;
  demand.cache_bytes = of_die + result;
  demand.memory_bytes = (once + (of_wave - once) * (1 - held)) * again + result;
  demand.memory_writes = written;
  const double products = 2 * tile * depth / flops_per_second_ * tile_cost(tiling_, compute.operand_cost);
  const double out_of_l2 =
      (real(tiling_.tile_m) + real(tiling_.tile_n)) * depth * element * per_die / compute.l2_rate.bytes_per_second();
  const double from_beyond = demand.cache_bytes / compute.unit_rate.bytes_per_second();
  demand.seconds =
      std::max({products, out_of_l2, from_beyond}) + static_cast<double>(compute.tile_overhead.value) * 1e-9;
  return demand;
}

}  // namespace cortado
