#include <algorithm>

#include "cortado/base/check.hpp"
#include "cortado/gemm/gemm.hpp"

namespace cortado {
namespace {

struct Wave {
  double seconds = 0;
  double memory_bytes = 0;
};

Wave wave_of(const GemmModel& model, const MemoryTiming& memory, std::uint64_t running) {
  const WorkgroupDemand demand = model.demand(running);
  const auto all = static_cast<double>(running);
  Wave wave{demand.seconds, demand.memory_bytes * all};
  wave.seconds = std::max(wave.seconds, wave.memory_bytes / memory.rate.bytes_per_second());
  if (memory.cache_bytes.value > 0) {
    wave.seconds = std::max(wave.seconds, demand.cache_bytes * all / memory.cache_rate.bytes_per_second());
  }
  return wave;
}

}  // namespace

GemmEstimate estimate_gemm(const GemmShape& shape, const Tiling& tiling, const Machine& machine, std::uint32_t units,
                           L2Windows windows) {
  CORTADO_CHECK(units > 0, "at least one compute unit");
  const GemmModel model(shape, tiling, machine, windows);
  const std::uint64_t full = model.workgroups() / units;
  const std::uint64_t rest = model.workgroups() % units;
  GemmEstimate estimate;
  estimate.waves = full + (rest > 0 ? 1 : 0);
  const auto add = [&](std::uint64_t running, std::uint64_t times) {
    const Wave wave = wave_of(model, machine.timing->memory, running);
    estimate.seconds += wave.seconds * static_cast<double>(times);
    estimate.memory_bytes += wave.memory_bytes * static_cast<double>(times);
  };
  if (full > 0) add(units, full);
  if (rest > 0) add(rest, 1);
  return estimate;
}

}  // namespace cortado
