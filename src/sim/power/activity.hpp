// What a GPU did in a control interval, and what it would draw at other clocks. Policies base their decisions on this.
#pragma once

#include <array>

#include "cortado/machine.hpp"
#include "cortado/timeline.hpp"

#include "sim/power/scaling.hpp"

namespace cortado::sim {

/// Share of the component's clock that the work uses; 1 = it cannot go faster at this clock. Indexed by xcd, iod, hbm.
/// Negative: it has no work.
using Utilisation = std::array<double, 3>;
inline constexpr std::array<Component, 3> kClocked{Component::xcd, Component::iod, Component::hbm};
inline constexpr Utilisation kNoWork{-1, -1, -1};

/// Work that uses this much of a clock is bound by it.
inline constexpr double kBound = 0.999;

/// GEMMs that compete with others for something that is full and serves requests in order: everybody gets the same
/// share of what it would take alone. A higher clock of the compute dies then asks for more and gets more.
struct Contention {
  double share = 1;               ///< of its full speed that a GEMM gets; 1: no contention
  double of_products = 0;         ///< share of the full resource that GEMMs get
  Component at = Component::iod;  ///< the component whose clock would raise its capacity
  bool copies = false;            ///< there are copies, whether or not they slow down GEMMs
  bool products = false;          ///< there are GEMMs

  friend bool operator==(const Contention&, const Contention&) = default;
};

struct GpuActivity {
  Clocks clocks;                   ///< at which it worked
  std::array<double, 3> needed{};  ///< GHz that its work used, at most; 0: no work
  bool steady = true;              ///< compute units were busy nearly all the time, not with starts and flags
  Contention contention{};
  std::array<bool, 3> bounds{};  ///< the component's clock set the pace
  Energy mean_watts;             ///< over the interval, by part
  Energy watts_now;              ///< at its end
  const Power* power = nullptr;

  bool idle() const { return needed[0] <= 0 && needed[1] <= 0 && needed[2] <= 0; }
  /// A higher clock of the component means more work done, although it is not the only thing that limits the work.
  bool contended(Component component) const {
    return contention.share < 1 && (component == Component::xcd || component == contention.at);
  }
  /// At a lower clock the work would be slower, whether or not it used all of this one: it competes for shared
  /// resources, or is busy with starts and flags, which would then take longer.
  bool keeps_clock(Component component) const {
    return contended(component) || (component == Component::xcd && !steady);
  }
  bool bound() const { return bounds[0] || bounds[1] || bounds[2]; }

  /// How fast the same work would be, relative to how fast it was. Work that no clock bounds gains nothing from higher
  /// ones.
  double speed_at(const Clocks& other) const;
  /// What the same work would draw: the maximum of the interval's mean and the value at its end.
  double watts_at(const Clocks& other) const;

  friend bool operator==(const GpuActivity&, const GpuActivity&) = default;
};

/// What the work of an activity would draw at other clocks. A search moves one clock at a time, so the scales of the
/// other components are kept from one query to the next.
class PredictedDraw {
 public:
  explicit PredictedDraw(const GpuActivity& activity);
  double watts_at(const Clocks& clocks);

 private:
  const GpuActivity& activity_;
  PartScales before_;
  Clocks at_;  ///< clocks of after_
  PartScales after_;
};

}  // namespace cortado::sim
