#include "sim/fluid/water_level.hpp"

#include <algorithm>
#include <cstddef>

#include "sim/fluid/rounding.hpp"

namespace cortado::sim::internal {

namespace {

/// The claims at some level: what those with enough take, and how fast the others grow with the level.
struct Filling {
  double satisfied = 0;
  double open = 0;
  std::size_t enough = 0;

  void add(const Claim& claim, double level) {
    const bool has_enough = claim.demand <= level * claim.weight;
    satisfied += has_enough ? claim.most : 0.0;
    open += has_enough ? 0.0 : claim.slope;
    enough += has_enough ? 1 : 0;
  }
};

}  // namespace

// The sum is concave in L, so that a Newton step from anywhere lands at or below the solution, and steps from there
// only rise. Each of them gives one more claim enough, or it is the last. The level is computed from the final division
// of the claims alone, in their order.
WaterLevel water_level(std::span<const Claim> claims, double capacity, double guess) {
  double total = 0;
  double slope = 0;
  Filling now;
  for (const Claim& claim : claims) {
    total += claim.most;
    slope += claim.slope;
    now.add(claim, guess);
  }
  if (total <= capacity * (1 + kSumRounding)) return {kNoLevel, std::max(0.0, capacity - total)};
  if (now.enough == claims.size() || now.satisfied >= capacity) now = {0, slope, 0};
  for (bool rising = false;; rising = true) {
    const double left = std::max(0.0, capacity - now.satisfied);
    const double level = left / now.open;
    Filling next;
    for (const Claim& claim : claims) next.add(claim, level);
    const bool settled = next.enough == now.enough || (rising && next.enough < now.enough);
    if (settled || next.enough == claims.size()) return {level, left};
    now = next;
  }
}

}  // namespace cortado::sim::internal
