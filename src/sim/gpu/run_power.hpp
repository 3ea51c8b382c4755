// Power of a run: the meter, managed clocks, and how fast compute units are at these.
//
//   products   what a workgroup takes but for its overhead is for the clock that the machine file gives its element
//              type; at another clock it takes as much more or less
//   kernels    copies and reductions by compute units are for the nominal clock: copy_clock_share of the time of a byte
//              follows the clock, and so do the start of a kernel and the raising of a flag
//   caches, fabric, engines and memory follow their clocks (machine_resources.hpp); all else stays as it is
//
// Where clocks are not managed, nothing above changes. Energy then counts as if the compute dies ran at the lowest of
// the clocks that the products under way are given for, and at the nominal clock without any.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "cortado/sim/simulate.hpp"

#include "sim/gpu/iteration_energy.hpp"
#include "sim/power/manager.hpp"
#include "sim/power/meter.hpp"
#include "sim/power/places.hpp"

namespace cortado::sim {

class RunPower {
 public:
  RunPower(const CheckedProgram& program, const SimulateOptions& options);

  /// Hears nothing where energy is not counted.
  Listener& listener() { return energy_ ? *energy_ : silent_; }

  /// None: clocks stay as they are.
  PowerManager* manager() { return manager_ ? &*manager_ : nullptr; }
  bool managed() const { return manager_.has_value(); }
  const Clocks& clocks(RankId gpu) const { return meter_->clocks(gpu.value); }

  double xcd_clock(RankId gpu, DType dtype) const;       ///< GHz at which products of the type run
  double copy_speed(RankId gpu) const;                   ///< of copies by compute units, against the machine file's
  SimTime by_units(RankId gpu, Nanoseconds time) const;  ///< what compute units take so long for at nominal clocks

  /// Products of the type begin or end.
  void count_products(RankId gpu, DType dtype, std::int32_t more, SimTime now);
  /// A host queue is there.
  void note(IterationEnergy::Moment moment, std::uint32_t iteration, SimTime now);
  void report(SimTime end, Simulated& result);

 private:
  double unit_speed(RankId gpu) const;  ///< of compute units, against what the machine file has them at

  const Machine& machine_;
  std::uint32_t ranks_;
  Listener silent_;
  std::optional<PowerMeter> meter_;
  std::optional<EnergyListener> energy_;
  std::optional<PowerManager> manager_;
  std::optional<IterationEnergy> iterations_;
  std::vector<std::array<std::uint32_t, 4>> product_types_;  // by GPU: products under way of f32, f16, bf16, f8
};

}  // namespace cortado::sim
