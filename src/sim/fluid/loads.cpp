// The loads of the resources that flows share: followed where they matter, elsewhere bounded by the ceilings of the
// flows. A bound that comes near the capacity is computed again from lower ceilings; if that does not help, the load is
// followed from then on. So an overload is noticed by the very change that causes it, as if all loads were followed.
#include <utility>

#include "sim/fluid/solver.hpp"

namespace cortado::sim::internal {
namespace {

/// Ceilings leave this much room, so that a target that rises does not move them each time.
constexpr double kHeadroom = 1.25;

// Parts of the capacity. Bounds are updated by differences; the rounding errors of these are far below what is missing
// to 1.
constexpr double kMostOfBound = 0.999;  // with a higher bound, it is decided again whether one does
constexpr double kMostOfLoad = 0.72;    // with a higher load, none does: 0.9 including the headroom

/// A load that is followed is updated by differences and recomputed from scratch after this many of them.
constexpr std::uint8_t kMovesBetweenSums = 64;

}  // namespace

void Solver::spread(Flow& flow, double change, std::uint32_t except) {
  if (change == 0) return;
  const double before = flow.ceiling;
  if (flow.target > before) flow.ceiling = kHeadroom * flow.target;
  const double more = flow.ceiling - before;
  for (const Use& use : uses_.shared(flow)) {
    if (!resources_[use.resource].followed) {
      add_to_bound(use.resource, use.factor * more);
    } else if (use.resource != except) {
      add_load(use.resource, use.factor * change);
    }
  }
}

void Solver::add_load(std::uint32_t index, double amount) {
  Resource& resource = resources_[index];
  resource.load += amount;
  if (++resource.moves >= kMovesBetweenSums) set_load(index, exact_load(resource));
  if (off_balance(resource)) enqueue(index);
}

void Solver::add_to_bound(std::uint32_t index, double amount) {
  Resource& resource = resources_[index];
  resource.load += amount;
  if (resource.load <= kMostOfBound * resource.capacity) return;
  set_load(index, exact_load(resource));
  if (resource.followed && off_balance(resource)) enqueue(index);
}

double Solver::exact_load(const Resource& resource) const {
  double load = 0;
  for (const Claim& member : resource.members) load += member.factor * counted(flows_[member.flow]);
  return load;
}

void Solver::set_load(std::uint32_t index, double load) {
  Resource& resource = resources_[index];
  follow(resource, resource.limiting || load > kMostOfLoad * resource.capacity);
  resource.load = load;
  resource.moves = 0;
  if (resource.followed) return;
  for (const Claim& member : resource.members) lower_ceiling(flows_[member.flow]);
  resource.load = 0;
  for (const Claim& member : resource.members) resource.load += member.factor * flows_[member.flow].ceiling;
}

void Solver::follow(Resource& resource, bool yes) {
  if (std::exchange(resource.followed, yes) == yes) return;
  for (const Claim& member : resource.members) {
    std::uint16_t& count = flows_[member.flow].followed;
    yes ? ++count : --count;
  }
}

void Solver::lower_ceiling(Flow& flow) {
  const double ceiling = kHeadroom * counted(flow);
  if (ceiling >= flow.ceiling || !flow.alive) return;  // a flow that is leaving may have left some resources already
  for (const Use& use : uses_.shared(flow)) {
    Resource& resource = resources_[use.resource];
    if (!resource.followed) resource.load -= use.factor * (flow.ceiling - ceiling);
  }
  flow.ceiling = ceiling;
}

}  // namespace cortado::sim::internal
