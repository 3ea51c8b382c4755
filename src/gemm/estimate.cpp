#include "base/check.hpp"
#include "gemm/gemm.hpp"

namespace cortado {
GemmEstimate estimate_gemm(const GemmShape& shape, const Tiling& tiling, const Machine& machine, std::uint32_t units,
                           std::optional<double> clock_ghz) {
  CORTADO_CHECK(units > 0, "at least one compute unit");
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
