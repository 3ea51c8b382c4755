// What rounding alone may do to the quantities of the solver.
#pragma once

#include <limits>

namespace cortado::sim::internal {

/// Sums of rates that differ by less, relative to them, are equal.
inline constexpr double kSumRounding = 1e-12;

/// A level that moves by less stays where it is, so that the last bits of two resources cannot chase each other.
inline constexpr double kLevelRounding = 1e-14;

/// The level of a resource that limits nobody.
inline constexpr double kNoLevel = std::numeric_limits<double>::infinity();

}  // namespace cortado::sim::internal
