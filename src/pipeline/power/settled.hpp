// Programs whose clocks are managed are repeated until the management has settled.
#pragma once

#include <cstdint>

#include "cortado/machine.hpp"
#include "cortado/timeline.hpp"

namespace cortado::pipeline {

/// Of a program that takes so long: forty control intervals, and `least` or more. Iterations begin at any moment of an
/// interval, which decides how they end; many average it out.
std::uint32_t settled_iterations(double seconds, const Power& power, std::uint32_t least);

/// Mean of the second half of the iterations. A simulation has no outliers, but clocks that go up and down between two
/// steps, so that a median would be the time of one of them. The machine has power.
EnergyUse settled_use(const Timeline& timeline);

}  // namespace cortado::pipeline
