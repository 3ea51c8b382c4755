// The power meter: an observer of a simulation that counts joules, by GPU and by part (cortado/timeline.hpp).
//
// Power changes only when rates of flows, the number of held compute units or polling engines, or clocks change. A
// change by w watts at time t adds w (T - t) joules until T; so a part keeps two sums, W of all w and M of all w t, and
// has drawn W T - M. That is one addition per change, however long ago anything else of the GPU changed. The amount by
// which a flow moves more or less than its size, because its end is rounded to a picosecond, is corrected when it ends,
// so that every event is counted exactly once: at constant clocks the meter reads the sum over flows of amount times
// joules.
//
// A component is awake (leakage and clock trees) while it has work: the compute dies while a kernel holds a compute
// unit; I/O dies and memory also while bytes move into, out of or within the GPU.
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

/// What one unit of a flow draws, at nominal clocks.
struct Draw {
  std::uint32_t gpu = 0;
  EnergyPart part = EnergyPart::xcd_idle;
  double joules = 0;
};

class PowerMeter {
 public:
  /// `sample`: record the watts of each GPU and component, averaged over this time. The power must outlive this.
  PowerMeter(const Power& power, std::uint32_t gpus, std::optional<SimTime> sample);

  void begin_flow(FlowId flow, std::span<const Draw> draws, SimTime now);
  void set_rate(FlowId flow, double rate, SimTime now);  ///< per second
  /// `rest`: what it still had to move at its last rate; may be negative.
  void end_flow(FlowId flow, double rest, SimTime now);

  void spend(std::uint32_t gpu, EnergyPart part, double joules, SimTime now);  ///< at nominal clocks
  void hold_units(std::uint32_t gpu, std::int64_t more, SimTime now);
  void poll(std::uint32_t gpu, std::int64_t more, SimTime now);  ///< engines
  void set_clocks(std::uint32_t gpu, const Clocks& clocks, SimTime now);

  const Clocks& clocks(std::uint32_t gpu) const { return gpus_[gpu].clocks; }
  bool awake(std::uint32_t gpu, Component component) const;
  /// Current power, by part.
  Energy watts(std::uint32_t gpu) const;
  /// Energy drawn so far.
  Energy joules(std::uint32_t gpu, SimTime now) const;
  Energy joules(SimTime now) const;  ///< by all GPUs

  /// Watts by GPU and component up to now, if recorded; an incomplete sample counts as far as it goes.
  std::vector<Counter> counters(SimTime now);

 private:
  static constexpr std::size_t kParts = kEnergyParts.size();
  using Parts = std::array<double, kParts>;

  /// At nominal clocks, since clocks changed or the sums were last converted to joules.
  struct Sums {
    double watts = 0;   // W
    double moment = 0;  // M
  };
  struct Gpu {
    std::array<Sums, kParts> sums{};
    PartScales scales{};
    Parts joules{};  // no longer in the sums
    Clocks clocks;
    std::int64_t draws = 0;  // of flows in progress
    std::int64_t units = 0;
    SimTime sample_end{};
    Parts sample_start{};                                        // joules at its beginning
    std::vector<std::array<float, kComponents.size()>> samples;  // watts
  };
  /// A draw together with the sums that it changes: rates change more often than anything else.
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
  static void take_up(Gpu& gpu, double seconds);  ///< converts sums to joules
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
