// Power management of a simulated run: observes how every GPU uses its clocks, sets them every control interval
// according to a policy, and keeps statistics.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "cortado/target.hpp"

#include "sim/kernel/time.hpp"
#include "sim/power/activity.hpp"
#include "sim/power/meter.hpp"
#include "sim/power/policies.hpp"

namespace cortado::sim {

class PowerManager {
 public:
  /// Both must outlive this.
  PowerManager(const PowerManagement& management, const Power& power, std::uint32_t gpus, PowerMeter& meter,
               bool keep_clocks);

  SimTime interval() const { return interval_; }
  /// From now on, the work of the GPU uses this much of its clocks. A component that was clocked below nominal and now
  /// slows down work does not wait for the next decision: it gets its nominal clock back, and the compute dies what
  /// power allows if they run a GEMM. True if clocks changed.
  bool observe(std::uint32_t gpu, const Utilisation& use, const Contention& contention, SimTime now);
  /// At the end of a control interval: sets the clocks for the next one, also in the meter. True if they changed.
  bool decide(std::uint32_t gpu, SimTime now);

  /// At the same moment, after the new clocks have taken effect, since predictions are not exact: if the GPU still
  /// draws more than it may, the clock of its compute dies is lowered once more. True if clocks changed.
  bool correct(std::uint32_t gpu, SimTime now);

  ManagedClocks summary(SimTime now);
  std::vector<Counter> counters() const;  ///< clocks, if recorded

 private:
  struct Gpu {
    // Since `since`:
    Utilisation use = kNoWork;
    Contention contention;
    Clocks at;
    double watts = 0;
    std::array<bool, 3> is_awake{};
    SimTime since{};
    SimTime interval_began{};
    std::array<double, 3> worked{};  // seconds of the interval
    std::array<double, 3> most{};    // greatest utilisation of the interval
    std::array<double, 3> bound{};   // seconds for which it set the pace
    double contended = 0;            // seconds
    double shares = 0;               // shares of contention, times seconds
    Component contended_at = Component::iod;
    double of_products = 0;  // likewise
    Energy joules;           // at the beginning of the interval
    /// What power allows the compute dies; it rises by raise_ghz an interval at most. A policy may clock them lower for
    /// work that does not need it; a GEMM that follows must not have to climb up again.
    double allowed_xcd = 0;
    std::array<double, 3> awake{};    // seconds, since the start of the run
    std::array<double, 3> clocked{};  // GHz times seconds while awake
    double above = 0;                 // seconds continuously above the cap, up to now
    std::array<Counter, 3> clocks;
  };

  void pass_time(std::uint32_t gpu, SimTime now);
  GpuActivity activity(std::uint32_t gpu, SimTime now);
  struct Decision {
    Clocks clocks;
    double board_xcd = 0;  ///< of the compute dies, if they are not clocked below what power allows
  };
  const Decision& decided(const GpuActivity& from);
  PolicyInputs inputs() const;
  bool set_clocks(std::uint32_t gpu, const Clocks& clocks, SimTime now);
  void keep_clocks(std::uint32_t gpu, SimTime now);

  const PowerPolicy& policy_;
  const Power& power_;
  double cap_w_;
  double headroom_;
  std::array<bool, 3> moves_{};
  SimTime interval_;
  PowerMeter& meter_;
  bool keep_clocks_;
  std::vector<Gpu> gpus_;
  double peak_w_ = 0;
  double longest_above_ = 0;
  std::optional<std::pair<GpuActivity, Decision>> last_;  ///< the last decision: most GPUs of a node do the same
};

}  // namespace cortado::sim
