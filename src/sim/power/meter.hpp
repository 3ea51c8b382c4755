// The power meter: an observer of a simulation that counts joules, by GPU and by part (timeline/energy.hpp).
//
// What is drawn changes only when rates of flows, compute units that are held, engines that poll, or clocks do; between
// two such moments watts are constant, and joules are watts times seconds. What a flow moved less or more than its
// amount because its end is rounded to a picosecond is settled when it ends, so that every event is counted once:
// the sum over flows of amount times joules is what the meter says at constant clocks.
//
// A component is awake (leakage and clock trees) while it has work: the compute dies while a kernel holds a compute
// unit; I/O dies and memory while that is so or bytes move in or out of the GPU or within it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cortado/machine/power.hpp"
#include "cortado/sim/fluid.hpp"
#include "cortado/sim/time.hpp"
#include "cortado/timeline/timeline.hpp"

#include "sim/power/scaling.hpp"

namespace cortado::sim {

/// What one unit of a flow takes, at nominal clocks.
struct Draw {
  std::uint32_t gpu = 0;
  EnergyPart part = EnergyPart::xcd_idle;
  double joules = 0;
};

class PowerMeter {
 public:
  /// `sample`: keep the watts of each GPU and component, averages over so long. The power must outlive this.
  PowerMeter(const Power& power, std::uint32_t gpus, std::optional<SimTime> sample);

  void begin_flow(FlowId flow, std::span<const Draw> draws, SimTime now);
  void set_rate(FlowId flow, double rate, SimTime now);  ///< per second
  /// `rest`: what it had still to move at its last rate; may be negative.
  void end_flow(FlowId flow, double rest, SimTime now);

  void spend(std::uint32_t gpu, EnergyPart part, double joules, SimTime now);  ///< at nominal clocks
  void hold_units(std::uint32_t gpu, std::int64_t more, SimTime now);
  void poll(std::uint32_t gpu, std::int64_t more, SimTime now);  ///< engines
  void set_clocks(std::uint32_t gpu, const Clocks& clocks, SimTime now);

  const Clocks& clocks(std::uint32_t gpu) const { return gpus_[gpu].clocks; }
  bool awake(std::uint32_t gpu, Component component) const;
  /// Being drawn, by part.
  Energy watts(std::uint32_t gpu) const;
  /// Drawn so far.
  Energy joules(std::uint32_t gpu, SimTime now);
  Energy joules(SimTime now);  ///< by all GPUs

  /// Watts by GPU and component up to now, if it keeps them; samples that are not over count for what they have.
  std::vector<Counter> counters(SimTime now);

 private:
  static constexpr std::size_t kParts = kEnergyParts.size();

  struct Gpu {
    std::array<double, kParts> nominal{};  // watts at nominal clocks
    PartScales scales{};
    std::array<double, kParts> joules{};
    SimTime since{};
    Clocks clocks;
    std::int64_t flows = 0;
    std::int64_t units = 0;
    std::int64_t polling = 0;
    SimTime sample_end{};
    std::array<double, kParts> sample_start{};                   // joules when it began
    std::vector<std::array<float, kComponents.size()>> samples;  // watts
  };
  struct Flow {
    std::vector<Draw> draws;
    double rate = 0;
  };

  void pass_time(Gpu& gpu, SimTime now);
  static void integrate(Gpu& gpu, SimTime now);
  void end_sample(Gpu& gpu, double seconds);
  void set_awake(Gpu& gpu);
  void count_flow(const Flow& flow, std::int64_t more);
  Energy with_loss(const std::array<double, kParts>& parts) const;
  double& nominal(Gpu& gpu, EnergyPart part) { return gpu.nominal[static_cast<std::size_t>(part)]; }

  const Power& power_;
  std::optional<SimTime> sample_;
  std::vector<Gpu> gpus_;
  std::vector<Flow> flows_;  // by FlowId
};

}  // namespace cortado::sim
