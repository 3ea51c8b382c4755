#include <algorithm>

#include "base/check.hpp"
#include "gemm/gemm.hpp"

namespace cortado {
namespace {

struct WaveCost {
  double seconds = 0;
  double memory_bytes = 0;
};

/// Memory and last-level cache serve all workgroups of the wave together.
WaveCost cost_of(const WorkgroupDemand& demand, const MemoryTiming& memory, std::uint64_t running) {
  const auto all = static_cast<double>(running);
  WaveCost cost{demand.seconds, demand.memory_bytes * all};
  cost.seconds = std::max(cost.seconds, demand.memory_seconds * all);
  if (memory.cache_bytes.value > 0) {
    cost.seconds = std::max(cost.seconds, demand.cache_bytes * all / memory.cache_rate.bytes_per_second());
  }
  return cost;
}

}  // namespace

GemmEstimate estimate_gemm(const GemmShape& shape, const Tiling& tiling, const Machine& machine, std::uint32_t units,
                           std::optional<double> clock_ghz) {
  CORTADO_CHECK(units > 0, "at least one compute unit");
  const GemmModel model(shape, tiling, machine);
  const std::uint64_t full = model.workgroups() / units;
  const std::uint64_t rest = model.workgroups() % units;
  GemmEstimate estimate;
  estimate.waves = full + (rest > 0 ? 1 : 0);
  estimate.clock_ghz = clock_ghz ? *clock_ghz : gemm_clock_ghz(model, machine, units);
  const auto add = [&](const GemmWave& wave, std::uint64_t times) {
    const WorkgroupDemand demand = model.demand(wave, estimate.clock_ghz);
    const WaveCost cost = cost_of(demand, machine.timing->memory, wave.running);
    estimate.seconds += cost.seconds * static_cast<double>(times);
    estimate.memory_bytes += cost.memory_bytes * static_cast<double>(times);
  };
  if (full > 0) add({.running = units, .units = units}, full);
  if (rest > 0) add({.running = rest, .units = units, .last = full > 0}, 1);
  return estimate;
}

}  // namespace cortado
