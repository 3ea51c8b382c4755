#include "sim/fluid/water_level.hpp"

#include <algorithm>

#include "sim/fluid/rounding.hpp"

namespace cortado::sim::internal {

namespace {

/// The claims at a certain level.
struct Filling {
  double total = 0;              // what all claims would take
  double satisfied = 0;          // what the satisfied ones take
  double open = 0;               // how fast the demand of the others grows with the level
  double highest_satisfied = 0;  // ratios closest to the level
  double lowest_open = kNoLevel;
};

Filling filling_at(double level, std::span<const Claim> claims) {
  Filling f;
  for (const Claim& claim : claims) {
    const bool enough = claim.ratio <= level;
    f.total += claim.most;
    f.satisfied += enough ? claim.most : 0.0;
    f.open += enough ? 0.0 : claim.slope;
    f.highest_satisfied = std::max(f.highest_satisfied, enough ? claim.ratio : 0.0);
    f.lowest_open = std::min(f.lowest_open, enough ? kNoLevel : claim.ratio);
  }
  return f;
}

}  // namespace

// The sum is concave in L, so a Newton step from anywhere lands at or below the solution, and steps from there only
// rise. Each step satisfies one more claim, or is the last. The level is computed only from the final division of the
// claims, in their order.
WaterLevel water_level(std::span<const Claim> claims, double capacity, double guess) {
  double at = guess;
  Filling now = filling_at(at, claims);
  if (now.total <= capacity * (1 + kSumRounding)) return {kNoLevel, std::max(0.0, capacity - now.total)};
  if (now.open <= 0 || now.satisfied >= capacity) {
    at = 0;
    now = filling_at(at, claims);
  }
  for (bool rising = false;; rising = true) {
    const double left = std::max(0.0, capacity - now.satisfied);
    const double level = left / now.open;
    const bool same_division = now.highest_satisfied <= level && level < now.lowest_open;
    if (same_division || (rising && level <= at)) return {level, left};
    const Filling next = filling_at(level, claims);
    if (next.open <= 0) return {level, left};
    at = level;
    now = next;
  }
}

}  // namespace cortado::sim::internal
