// Programs whose clocks are managed are repeated until the management has settled.
#pragma once

#include <cstdint>
#include <string_view>

#include "cortado/machine.hpp"
#include "cortado/result.hpp"
#include "cortado/timeline.hpp"

namespace cortado::pipeline {

/// Refuses a cap or a limit (`what`) that is exceeded even at the lowest clocks (power.cap).
Status check_least_watts(std::string_view who_draws, double least_w, std::string_view what, double allowed_w);

/// For a program of this duration: forty control intervals, and at least `least`. Iterations begin at any moment of an
/// interval, which affects how they end; many average it out.
std::uint32_t settled_iterations(double seconds, const Power& power, std::uint32_t least);

/// Mean of the second half of the iterations. A simulation has no outliers, but clocks alternate between two
/// steps, so a median would be the time of one of them. The machine must describe power.
EnergyUse settled_use(const Timeline& timeline);

}  // namespace cortado::pipeline
