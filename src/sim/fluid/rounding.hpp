// How far rounding alone may move the quantities of the solver.
#pragma once

#include <limits>

namespace cortado::sim::internal {

/// Sums of rates whose relative difference is below this are equal.
inline constexpr double kSumRounding = 1e-12;

/// A level that moves by less than this stays where it is, so that two resources cannot keep changing each other's last
/// bits.
inline constexpr double kLevelRounding = 1e-14;

/// The level of a resource that limits nobody.
inline constexpr double kNoLevel = std::numeric_limits<double>::infinity();

}  // namespace cortado::sim::internal
