#include "cortado/gemm/time_parts.hpp"

#include <algorithm>

#include "gemm/matrix_timing.hpp"

namespace cortado {
namespace {

GemmShape written_only(GemmShape shape) {
  shape.accumulate = false;
  return shape;
}

/// Waves of one product with `running` workgroups each.
class Waves {
 public:
  Waves(const GemmShape& shape, const Tiling& tiling, const Machine& machine)
      : machine_(machine), model_(shape, tiling, machine), written_(written_only(shape), tiling, machine) {
    const ComputeTiming& compute = *machine.timing->compute;
    const double depth = static_cast<double>(shape.k) / static_cast<double>(tiling.split_k);
    tile_seconds_ = 2 * static_cast<double>(tiling.tile_m * tiling.tile_n) * depth / unit_flops(compute, shape.dtype) *
                    tile_cost(tiling, compute.operand_cost);
    start_seconds_ = static_cast<double>(compute.tile_overhead.value) * 1e-9;
  }

  std::uint64_t workgroups() const { return model_.workgroups(); }

  /// Of one wave; `tiles` with the operations, which are not known here.
  GemmTimeParts parts(std::uint64_t running) const {
    const double filled = static_cast<double>(running) / machine_.compute_units;
    const WorkgroupDemand demand = model_.demand(running);
    const double whole = at_least(demand.seconds, demand, running);
    const double busy = at_least(demand.seconds * filled, demand, running);
    const double without_starts = at_least((demand.seconds - start_seconds_) * filled, demand, running);
    const WorkgroupDemand written = written_.demand(running);
    const double written_once = at_least((written.seconds - start_seconds_) * filled, written, running);
    GemmTimeParts parts;
    parts.idle = whole - busy;
    parts.starts = busy - without_starts;
    parts.results = without_starts - written_once;
    parts.tiles = tile_seconds_ * filled;
    parts.operands = written_once - parts.tiles;
    return parts;
  }

 private:
  /// Memory and last-level cache serve all workgroups of the wave together.
  double at_least(double seconds, const WorkgroupDemand& demand, std::uint64_t running) const {
    const MemoryTiming& memory = machine_.timing->memory;
    const auto all = static_cast<double>(running);
    seconds = std::max(seconds, demand.memory_bytes * all / memory.rate.bytes_per_second());
    if (memory.cache_bytes.value == 0) return seconds;
    return std::max(seconds, demand.cache_bytes * all / memory.cache_rate.bytes_per_second());
  }

  const Machine& machine_;
  GemmModel model_;
  GemmModel written_;  // the same product if it did not add
  double tile_seconds_ = 0;
  double start_seconds_ = 0;
};

void add(const GemmTimeParts& parts, double times, GemmTimeParts& sum) {
  sum.products += times * parts.products;
  sum.tiles += times * parts.tiles;
  sum.operands += times * parts.operands;
  sum.results += times * parts.results;
  sum.starts += times * parts.starts;
  sum.idle += times * parts.idle;
}

}  // namespace

GemmTimeParts& GemmTimeParts::operator+=(const GemmTimeParts& other) {
  add(other, 1, *this);
  return *this;
}

GemmTimeParts gemm_time_parts(const GemmShape& shape, const Tiling& tiling, const Machine& machine) {
  const std::uint32_t units = machine.compute_units;
  const Waves waves(shape, tiling, machine);
  const std::uint64_t rest = waves.workgroups() % units;
  GemmTimeParts sum;
  if (const std::uint64_t full = waves.workgroups() / units; full > 0) {
    add(waves.parts(units), static_cast<double>(full), sum);
  }
  if (rest > 0) add(waves.parts(rest), 1, sum);
  sum.products = flops(shape) / (units * unit_flops(*machine.timing->compute, shape.dtype));
  sum.tiles -= sum.products;
  return sum;
}

}  // namespace cortado
