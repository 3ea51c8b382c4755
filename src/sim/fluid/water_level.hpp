// How one resource divides its capacity among the flows that cross it.
#pragma once

#include <cstdint>
#include <span>

namespace cortado::sim::internal {

/// What a flow asks of a resource, in the forms that the computation needs, one after another in memory.
struct Claim {
  double demand = 0;  ///< the rate that everything but this resource allows; may be unlimited
  double weight = 1;
  double ratio = 0;  ///< demand / weight: the level at which it is satisfied
  double most = 0;   ///< factor * demand: what it takes when satisfied
  double slope = 1;  ///< factor * weight: what it takes per unit of the level when not satisfied
  std::uint32_t flow = 0;
  std::uint8_t priority = 0;
  double factor = 1;
};

struct WaterLevel {
  double level = 0;  ///< greatest normalised rate (rate / weight); unlimited if all demands fit
  double left = 0;   ///< capacity that satisfied demands leave for the flows at the level, or for lower classes
};

/// The level L with  sum of min(most, slope * L) = capacity.  `guess` saves steps; the result does not depend on it,
/// except for flows whose demand equals the level up to rounding.
WaterLevel water_level(std::span<const Claim> claims, double capacity, double guess);

}  // namespace cortado::sim::internal
