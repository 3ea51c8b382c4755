#include <algorithm>

#include "base/check.hpp"
#include "gemm/gemm.hpp"
#include "gemm/real.hpp"
#include "gemm/stages.hpp"

namespace cortado {
namespace {

/// What a workgroup writes to memory and reads of results there: its part of C, and partial sums of a split in f32.
double result_bytes(const GemmShape& shape, const Tiling& tiling) {
  const double element = real(size_of(result_type(shape)).value);
  const double parts = real(tiling.split_k);
  const double sums = tiling.split_k == 1 ? 0 : 2 * sizeof(float);
  const double times = shape.accumulate ? 2 : 1;
  return real(shape.m) * real(shape.n) * (times * element / parts + sums);
}

/// One stage after the other, as the simulator runs them (sim/gpu/products.hpp): the first part of its reads, then the
/// multiplication beside the rest of them. The stores of a stage drain beside the next one.
GemmEstimate estimate_stages(const GemmShape& shape, const Tiling& tiling, const Machine& machine, std::uint32_t units,
                             std::optional<double> clock_ghz) {
  const GemmModel model(shape, tiling, machine, L2Windows::modelled, ResultPath::streamed);
  const StageReads reads(gemm_command(shape, tiling, {}, {}, {}), machine, units);
  const MemoryTiming& memory = machine.timing->memory;
  const double rate = memory.rate.bytes_per_second();
  const double share = machine.timing->compute->stages->read_share;
  const double stored = result_bytes(shape, tiling) * real(tiling.split_k) / real(reads.workgroups());
  // Flows get the same rate in bytes of operands and of C, each of which may be several bytes of the memory.
  const double per_byte =
      result_bytes(shape, tiling) / (real(shape.m) * real(shape.n) * real(size_of(result_type(shape)).value));
  GemmEstimate estimate;
  estimate.clock_ghz = clock_ghz ? *clock_ghz : gemm_clock_ghz(model, machine, units);
  estimate.waves = reads.stages();
  estimate.memory_bytes = reads.total() + stored * real(reads.workgroups());
  const auto demand_of = [&](std::uint64_t running, bool last) {
    return model.demand({.running = running, .units = units, .last = last}, estimate.clock_ghz);
  };
  const WorkgroupDemand full = demand_of(units, false);
  double draining = 0;  // bytes
  for (std::uint64_t stage = 0; stage < reads.stages(); ++stage) {
    const std::uint64_t running = std::min<std::uint64_t>(units, reads.workgroups() - stage * units);
    const WorkgroupDemand demand = running == units ? full : demand_of(running, stage > 0);
    const double first = share * reads.of_stage(stage);
    const double rest = reads.of_stage(stage) - first;
    const double drained = std::min(draining, first * per_byte);
    draining -= drained;
    double multiplying = std::max(demand.seconds, (rest + std::min(draining, rest * per_byte)) / rate);
    if (memory.cache_bytes.value > 0) {
      multiplying = std::max(multiplying, real(running) * demand.cache_bytes / memory.cache_rate.bytes_per_second());
    }
    draining = std::max(0.0, draining - (multiplying * rate - rest)) + real(running) * stored;
    estimate.seconds += (first + drained) / rate + multiplying;
  }
  estimate.seconds += draining / rate;
  return estimate;
}

}  // namespace

GemmEstimate estimate_gemm(const GemmShape& shape, const Tiling& tiling, const Machine& machine, std::uint32_t units,
                           std::optional<double> clock_ghz) {
  CORTADO_CHECK(units > 0, "at least one compute unit");
  if (machine.timing->compute->stages && shape.groups.empty()) {
    return estimate_stages(shape, tiling, machine, units, clock_ghz);
  }
  const GemmModel model(shape, tiling, machine);
  GemmEstimate estimate;
  estimate.clock_ghz = clock_ghz ? *clock_ghz : gemm_clock_ghz(model, machine, units);
  const GemmModel::InWaves whole = model.in_waves(units, estimate.clock_ghz);
  estimate.seconds = whole.seconds;
  estimate.memory_bytes = whole.memory_bytes;
  estimate.waves = whole.waves;
  return estimate;
}

}  // namespace cortado
