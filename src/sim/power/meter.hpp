// The power meter: an observer of a simulation that counts joules, by GPU and by part (cortado/timeline.hpp).
//
// What is drawn changes only when rates of flows, compute units that are held, engines that poll, or clocks do. A
// change by w watts at time t adds w (T - t) joules until T; so a part keeps two sums, W of all w and M of all w t, and
// has drawn W T - M. That is one addition a change, however long it is ago that anything else of the GPU changed. What
// a flow moved less or more than its amount because its end is rounded to a picosecond is settled when it ends, so that
// every event is counted once: the sum over flows of amount times joules is what the meter says at constant clocks.
//
// A component is awake (leakage and clock trees) while it has work: the compute dies while a kernel holds a compute
// unit; I/O dies and memory while that is so or bytes move in or out of the GPU or within it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/timeline.hpp"

#include "sim/fluid/fluid.hpp"
#include "sim/kernel/time.hpp"
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
  Energy joules(std::uint32_t gpu, SimTime now) const;
  Energy joules(SimTime now) const;  ///< by all GPUs

  /// Watts by GPU and component up to now, if it keeps them; samples that are not over count for what they have.
  std::vector<Counter> counters(SimTime now);

 private:
  static constexpr std::size_t kParts = kEnergyParts.size();
  using Parts = std::array<double, kParts>;

  /// At nominal clocks, since they or the sums were taken up last.
  struct Sums {
    double watts = 0;   // W
    double moment = 0;  // M
  };
  struct Gpu {
    std::array<Sums, kParts> sums{};
    PartScales scales{};
    Parts joules{};  // of what the sums do not hold
    Clocks clocks;
    std::int64_t draws = 0;  // of flows under way
    std::int64_t units = 0;
    SimTime sample_end{};
    Parts sample_start{};                                        // joules when it began
    std::vector<std::array<float, kComponents.size()>> samples;  // watts
  };
  /// A draw with the sums that it changes at hand: rates change more often than anything else.
  struct Pull {
    Sums* sums;
    double joules;
    std::uint32_t gpu;
  };
  struct Flow {
    std::vector<Pull> pulls;
    double rate = 0;
  };

  static void change(Gpu& gpu, EnergyPart part, double watts, double seconds);
  static Parts spent(const Gpu& gpu, double seconds);
  static void take_up(Gpu& gpu, double seconds);  ///< sums become joules
  void end_samples(Gpu& gpu, SimTime now);
  void end_samples(const Flow& flow, SimTime now);
  void rest_of_work(Gpu& gpu, double seconds);  ///< its last flow has ended
  void end_sample(Gpu& gpu, SimTime at, double seconds);
  void wake(Gpu& gpu, double sign, bool compute, bool rest, double seconds);
  Energy with_loss(const Parts& parts) const;

  const Power& power_;
  std::optional<SimTime> sample_;
  std::vector<Gpu> gpus_;
  std::vector<Flow> flows_;  // by FlowId
};

}  // namespace cortado::sim
