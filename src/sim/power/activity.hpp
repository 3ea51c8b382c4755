// What a GPU did in a control interval, and what it would draw at other clocks. Policies decide from this.
#pragma once

#include <array>

#include "cortado/machine.hpp"
#include "cortado/timeline.hpp"

#include "sim/power/scaling.hpp"

namespace cortado::sim {

/// Share of the component's clock that work makes use of, 1 = it cannot go faster at this clock; by xcd, iod, hbm.
/// Negative: it has no work.
using Utilisation = std::array<double, 3>;
inline constexpr std::array<Component, 3> kClocked{Component::xcd, Component::iod, Component::hbm};
inline constexpr Utilisation kNoWork{-1, -1, -1};

/// Work that uses so much of a clock is bound by it.
inline constexpr double kBound = 0.999;

/// GEMMs that stand with others at something that is full, in the order of requests: everybody gets the same share
/// of what it would take alone. A higher clock of the compute dies then asks for more and gets more.
struct Contention {
  double share = 1;               ///< of its full speed that a GEMM gets; 1: it stands nowhere
  double of_products = 0;         ///< share of what is full that GEMMs have
  Component at = Component::iod;  ///< whose clock brings more of it
  bool copies = false;            ///< copies are there, whether GEMMs are held up by them or not

  friend bool operator==(const Contention&, const Contention&) = default;
};

struct GpuActivity {
  Clocks clocks;                   ///< at which it worked
  std::array<double, 3> needed{};  ///< GHz that its work made use of, at most; 0: no work
  bool steady = true;              ///< compute units were at work nearly all the time, not at starts and flags
  Contention contention{};
  std::array<bool, 3> bounds{};  ///< the component's clock set the pace
  Energy mean_watts;             ///< over the interval, by part
  Energy watts_now;              ///< at its end
  const Power* power = nullptr;

  bool idle() const { return needed[0] <= 0 && needed[1] <= 0 && needed[2] <= 0; }
  /// More of the component's clock is more work, though it is not what keeps the work from going faster alone.
  bool contended(Component component) const {
    return contention.share < 1 && (component == Component::xcd || component == contention.at);
  }
  /// At a lower clock the work would go slower, whether it made use of all of this one or not: it contends for more, or
  /// is busy with starts and flags, which take longer then.
  bool keeps_clock(Component component) const {
    return contended(component) || (component == Component::xcd && !steady);
  }
  bool bound() const { return bounds[0] || bounds[1] || bounds[2]; }

  /// How fast the same work would go, against how it went. Work that no clock bounds gains nothing from higher ones.
  double speed_at(const Clocks& other) const;
  /// What the same work would draw: the greater of the interval and of its end.
  double watts_at(const Clocks& other) const;

  friend bool operator==(const GpuActivity&, const GpuActivity&) = default;
};

/// What the work of an activity would draw at other clocks. A search moves one clock at a time: the scales of the other
/// components are kept from one question to the next.
class PredictedDraw {
 public:
  explicit PredictedDraw(const GpuActivity& activity);
  double watts_at(const Clocks& clocks);

 private:
  const GpuActivity& activity_;
  PartScales before_;
  Clocks at_;  ///< of after_
  PartScales after_;
};

}  // namespace cortado::sim
