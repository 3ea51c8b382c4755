// A power policy: chooses the clocks of a GPU for the next control interval from what it did in the last one.
#pragma once

#include <array>

#include "cortado/target.hpp"

#include "sim/power/activity.hpp"

namespace cortado::sim {

struct PolicyInputs {
  const Power& power;
  double cap_w = 0;             ///< of the board, or the limit of uniform-cap
  double headroom = 0;          ///< of components that do not bound, above what the work used
  std::array<bool, 3> moves{};  ///< clocks that a component policy may change, by xcd, iod, hbm
};

/// A clock within the curve of the component, a whole number of steps, not below `ghz` if the curve allows.
double clock_for(const Power& power, Component component, double ghz, double highest);

/// The highest clock of the compute dies, up to `highest`, that keeps within the cap together with the other clocks; 0
/// if none does.
double highest_xcd(const GpuActivity& activity, const PolicyInputs& inputs, Clocks clocks, double highest);

/// What the board alone would do (policy none); other policies start from it.
Clocks decide_as_board(const GpuActivity& activity, const PolicyInputs& inputs);

/// A GPU without work gets nominal clocks.
Clocks decide(const PowerPolicy& policy, const GpuActivity& activity, const PolicyInputs& inputs);

}  // namespace cortado::sim
