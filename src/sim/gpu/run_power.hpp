// Power of a run: the meter, managed clocks, and how fast compute units are at these clocks.
//
//   GEMMs    gemm/gemm.hpp computes what a workgroup takes at which clock
//   kernels  rates of copies and reductions by compute units are given for the nominal clock: copy_clock_share of the
//            time of a byte follows the clock, and so do the start of a kernel and the raising of a flag
//   caches, fabric, engines and memory follow their clocks (machine_resources.hpp); everything else stays as it is
//
// Where clocks are not managed, GEMMs run at gemm_clock_ghz and nothing else changes. Energy is then counted as if the
// compute dies ran at the lowest clock of the GEMMs in progress, or at the nominal clock if there are none.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/gpu/iteration_energy.hpp"
#include "sim/gpu/simulate.hpp"
#include "sim/power/manager.hpp"
#include "sim/power/meter.hpp"
#include "sim/power/places.hpp"

namespace cortado::sim {

class RunPower {
 public:
  RunPower(const CheckedProgram& program, const SimulateOptions& options);

  /// Ignores everything if energy is not counted.
  Listener& listener() { return energy_ ? *energy_ : silent_; }

  /// Null: clocks do not change.
  PowerManager* manager() { return manager_ ? &*manager_ : nullptr; }
  bool managed() const { return manager_.has_value(); }
  const Clocks& clocks(RankId gpu) const { return meter_->clocks(gpu.value); }

  double copy_speed(RankId gpu) const;                   ///< of copies by compute units, relative to the machine file
  SimTime by_units(RankId gpu, Nanoseconds time) const;  ///< time of something that takes compute units `time` at
                                                         ///< nominal clocks

  /// A GEMM begins or ends; this is its clock if clocks are not managed.
  void begin_product(RankId gpu, double clock_ghz, SimTime now);
  void end_product(RankId gpu, double clock_ghz, SimTime now);
  /// A host queue has reached this moment.
  void note(IterationEnergy::Moment moment, std::uint32_t iteration, SimTime now);
  void report(SimTime end, Simulated& result);

 private:
  bool follows_products() const;  ///< whether the meter follows GEMM clocks
  void meter_products(RankId gpu, SimTime now);
  double unit_speed(RankId gpu) const;  ///< of compute units, relative to the machine file

  const Machine& machine_;
  std::uint32_t ranks_;
  Listener silent_;
  std::optional<PowerMeter> meter_;
  std::optional<EnergyListener> energy_;
  std::optional<PowerManager> manager_;
  std::optional<IterationEnergy> iterations_;
  std::vector<std::vector<double>> product_clocks_;  // by GPU: of the GEMMs in progress, GHz
};

}  // namespace cortado::sim
