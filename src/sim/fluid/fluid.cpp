#include "cortado/sim/fluid.hpp"

#include <algorithm>
#include <cmath>

#include "cortado/base/check.hpp"

namespace cortado::sim {

namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

// What rounding alone may do: sums that differ by less are equal, and a level that moves by less stays where it is, so
// that the last bits of two resources cannot chase each other.
constexpr double kRounding = 1e-12;
constexpr double kLevelRounding = 1e-14;

// The load of a resource is corrected by differences and summed up anew after this many of them.
constexpr std::uint16_t kMovesBetweenSums = 64;

}  // namespace

FluidSystem::FluidSystem(FluidOptions options)
    : options_(options), tolerance_(options.mode == SharingMode::exact ? kRounding : options.tolerance) {
  CORTADO_CHECK(tolerance_ > 0 && tolerance_ <= 0.1, "the tolerance of a fluid system is in (0, 0.1]");
  CORTADO_CHECK(options.priority_classes > 0, "a fluid system has at least one priority class");
}

inline double& FluidSystem::level(std::uint32_t resource, std::uint8_t priority) {
  return levels_[std::size_t{resource} * options_.priority_classes + priority];
}

inline double FluidSystem::level(std::uint32_t resource, std::uint8_t priority) const {
  return levels_[std::size_t{resource} * options_.priority_classes + priority];
}

FluidSystem::Flow& FluidSystem::living(FlowId flow) {
  CORTADO_CHECK(flow.value < flows_.size() && flows_[flow.value].alive, "no such flow");
  return flows_[flow.value];
}

ResourceId FluidSystem::add_resource(double capacity) {
  CORTADO_CHECK(std::isfinite(capacity) && capacity >= 0, "a capacity is finite and not negative");
  Resource& resource = resources_.emplace_back();
  resource.capacity = capacity;
  resource.slack = tolerance_ * capacity;
  levels_.insert(levels_.end(), options_.priority_classes, kUnlimited);
  return {static_cast<std::uint32_t>(resources_.size() - 1)};
}

void FluidSystem::set_capacity(ResourceId id, double capacity) {
  CORTADO_CHECK(std::isfinite(capacity) && capacity >= 0, "a capacity is finite and not negative");
  Resource& resource = resources_[id.value];
  resource.capacity = capacity;
  if (!resource.limiting) resource.slack = tolerance_ * capacity;
  enqueue_if_off(id.value);
}

FlowId FluidSystem::add_flow(const FlowSpec& spec) {
  CORTADO_CHECK(spec.weight > 0 && std::isfinite(spec.weight), "a weight is finite and positive");
  CORTADO_CHECK(spec.cap >= 0, "a cap is not negative");
  CORTADO_CHECK(spec.priority < options_.priority_classes, "no such priority class");
  CORTADO_CHECK(!spec.uses.empty() || std::isfinite(spec.cap), "a flow without resources needs a cap");
  CORTADO_CHECK(spec.uses.size() <= kMaxUses, "a flow uses at most 64 resources");

  std::array<ResourceUse, kMaxUses> merged;
  std::size_t count = 0;
  for (const ResourceUse& use : spec.uses) {
    CORTADO_CHECK(use.resource.value < resources_.size(), "no such resource");
    CORTADO_CHECK(use.factor > 0 && std::isfinite(use.factor), "a factor is finite and positive");
    const auto end = merged.begin() + static_cast<std::ptrdiff_t>(count);
    const auto same = std::find_if(merged.begin(), end, [&](const auto& m) { return m.resource == use.resource; });
    if (same != end) {
      same->factor += use.factor;
    } else {
      merged[count++] = use;
    }
  }

  std::uint32_t index = static_cast<std::uint32_t>(flows_.size());
  if (free_flows_.empty()) {
    flows_.emplace_back();
  } else {
    index = free_flows_.back();
    free_flows_.pop_back();
  }
  std::vector<std::uint32_t>& blocks = free_uses_[count];
  std::uint32_t first_use = static_cast<std::uint32_t>(uses_.size());
  if (blocks.empty()) {
    uses_.resize(uses_.size() + count);
  } else {
    first_use = blocks.back();
    blocks.pop_back();
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t use = first_use + static_cast<std::uint32_t>(i);
    std::vector<Member>& members = resources_[merged[i].resource.value].members;
    uses_[use] = {merged[i].resource.value, static_cast<std::uint32_t>(members.size()), merged[i].factor};
    members.push_back({index, use, merged[i].factor});
  }
  const bool touched = flows_[index].touched;
  flows_[index] = {.weight = spec.weight,
                   .cap = spec.cap,
                   .first_use = first_use,
                   .use_count = static_cast<std::uint8_t>(count),
                   .priority = spec.priority,
                   .alive = true,
                   .touched = touched};
  ++flow_count_;
  retarget(index);
  return {index};
}

void FluidSystem::remove_flow(FlowId id) {
  Flow& flow = living(id);
  for (const Use& use : uses_of(flow)) {
    Resource& resource = resources_[use.resource];
    resource.members[use.place] = resource.members.back();
    uses_[resource.members[use.place].use].place = use.place;
    resource.members.pop_back();
    if (resource.members.empty()) {
      resource.load = 0;
      resource.limiting = false;
      resource.slack = tolerance_ * resource.capacity;
      std::fill_n(&level(use.resource, 0), options_.priority_classes, kUnlimited);
    } else {
      add_load(use.resource, -use.factor * flow.target);
    }
  }
  free_uses_[flow.use_count].push_back(flow.first_use);
  flow.alive = false;
  free_flows_.push_back(id.value);
  --flow_count_;
}

void FluidSystem::set_cap(FlowId id, double cap) {
  CORTADO_CHECK(cap >= 0, "a cap is not negative");
  Flow& flow = living(id);
  CORTADO_CHECK(flow.use_count > 0 || std::isfinite(cap), "a flow without resources needs a cap");
  flow.cap = cap;
  retarget(id.value);
}

void FluidSystem::set_weight(FlowId id, double weight) {
  CORTADO_CHECK(weight > 0 && std::isfinite(weight), "a weight is finite and positive");
  living(id).weight = weight;
  retarget(id.value);
}

std::optional<ResourceId> FluidSystem::bottleneck(FlowId id) const {
  const Flow& flow = flows_[id.value];
  double least = flow.cap;
  std::optional<ResourceId> found;
  for (const Use& use : uses_of(flow)) {
    const double limit = flow.weight * level(use.resource, flow.priority);
    if (limit < least) {
      least = limit;
      found = ResourceId{use.resource};
    }
  }
  return found;
}

/// The rate that the flow's cap and the levels of its resources allow, one resource left out.
inline double FluidSystem::offered(const Flow& flow, std::uint32_t except) const {
  double rate = flow.cap;
  for (const Use& use : uses_of(flow)) {
    if (use.resource != except) rate = std::min(rate, flow.weight * level(use.resource, flow.priority));
  }
  return rate;
}

void FluidSystem::retarget(std::uint32_t index) {
  const double target = offered(flows_[index], kNone);
  if (target < kUnlimited) {
    set_target(index, target, kNone);
  } else {
    set_target(index, 0, kNone);
    flows_[index].anchored = false;
    unanchored_.push_back(index);
  }
}

/// Counts the new target in the loads of all resources of the flow but one.
inline void FluidSystem::set_target(std::uint32_t index, double target, std::uint32_t except) {
  Flow& flow = flows_[index];
  const double change = target - flow.target;
  flow.target = target;
  flow.anchored = true;
  if (!flow.touched) {
    flow.touched = true;
    touched_.push_back(index);
  }
  if (change == 0) return;
  for (const Use& use : uses_of(flow)) {
    if (use.resource != except) add_load(use.resource, use.factor * change);
  }
}

inline void FluidSystem::add_load(std::uint32_t index, double amount) {
  Resource& resource = resources_[index];
  resource.load += amount;
  if (++resource.moves >= kMovesBetweenSums) {
    resource.moves = 0;
    resource.load = 0;
    for (const Member& member : resource.members) resource.load += member.factor * flows_[member.flow].target;
  }
  enqueue_if_off(index);
}

inline void FluidSystem::enqueue_if_off(std::uint32_t index) {
  Resource& resource = resources_[index];
  if (resource.queued || !off_balance(resource)) return;
  resource.queued = true;
  queue_.push_back(index);
}

inline bool FluidSystem::off_balance(const Resource& resource) const {
  const double excess = resource.load - resource.capacity;
  return excess > resource.slack || (resource.limiting && excess < -resource.slack);
}

/// Gives a flow that nothing limits yet a first level: that of the resource which is likely to limit it in the end.
void FluidSystem::force_tightest(const Flow& flow) {
  double least = kUnlimited;
  std::uint32_t tightest = kNone;
  for (const Use& use : uses_of(flow)) {
    const Resource& resource = resources_[use.resource];
    const double share = resource.capacity / (use.factor * static_cast<double>(resource.members.size()));
    if (share < least) {
      least = share;
      tightest = use.resource;
    }
  }
  Resource& resource = resources_[tightest];
  resource.forced = true;
  if (resource.queued) return;
  resource.queued = true;
  queue_.push_back(tightest);
}

std::span<const FlowId> FluidSystem::solve() {
  ++work_.solves;
  for (const std::uint32_t index : unanchored_) {
    if (flows_[index].alive && !flows_[index].anchored) force_tightest(flows_[index]);
  }
  unanchored_.clear();
  while (!queue_.empty()) {
    sweep_.swap(queue_);
    for (const std::uint32_t index : sweep_) {
      Resource& resource = resources_[index];
      resource.queued = false;
      if (resource.forced || off_balance(resource)) balance(index);
    }
    sweep_.clear();
  }
  report_changes();
  return changed_;
}

/// Computes the levels of one resource from what its members could have elsewhere, and gives them their targets.
void FluidSystem::balance(std::uint32_t index) {
  Resource& resource = resources_[index];
  gather_claims(index);
  ++work_.balances;
  work_.flows_visited += claims_.size();

  resource.forced = false;
  resource.limiting = false;
  resource.moves = 0;
  resource.load = 0;
  resource.slack = tolerance_ * resource.capacity;
  double left = resource.capacity;
  auto rest = std::span<const Claim>(claims_);
  for (std::uint8_t priority = options_.priority_classes; priority-- > 0;) {
    const auto end = std::find_if(rest.begin(), rest.end(), [&](const Claim& c) { return c.priority != priority; });
    const auto claims = rest.first(static_cast<std::size_t>(end - rest.begin()));
    rest = rest.subspan(claims.size());

    double& current = level(index, priority);
    if (resource.limiting) {
      current = 0;
    } else {
      const double share = left;
      const double filled = fill(claims, share, current, left);
      const bool same =
          current < kUnlimited && filled < kUnlimited && std::abs(filled - current) <= kLevelRounding * filled;
      if (!same) current = filled;
      if (current < kUnlimited) {
        resource.limiting = true;
        resource.slack = std::max(tolerance_ * left, kLevelRounding * resource.capacity);
      }
    }
    for (const Claim& claim : claims) {
      const double target = std::min(claim.demand, claim.weight * current);
      resource.load += claim.factor * target;
      const Flow& flow = flows_[claim.flow];
      if (target != flow.target || !flow.anchored) set_target(claim.flow, target, index);
    }
  }
}

/// By descending priority; within a class in the order of the members.
void FluidSystem::gather_claims(std::uint32_t index) {
  claims_.clear();
  bool sorted = true;
  for (const Member& member : resources_[index].members) {
    const Flow& flow = flows_[member.flow];
    const bool limited_elsewhere = flow.anchored && flow.weight * level(index, flow.priority) > flow.target;
    const double demand = limited_elsewhere ? flow.target : offered(flow, index);
    if (!claims_.empty() && claims_.back().priority < flow.priority) sorted = false;
    claims_.push_back({demand, flow.weight, member.factor, member.factor * demand, member.factor * flow.weight,
                       member.flow, flow.priority});
  }
  if (sorted) return;
  std::stable_sort(claims_.begin(), claims_.end(),
                   [](const Claim& a, const Claim& b) { return a.priority > b.priority; });
}

/// What the members get at a level: those whose demand the level satisfies, and the slope of those that it does not.
struct FluidSystem::Fill {
  double satisfied = 0;
  double open = 0;
  std::size_t count = 0;

  void add(const Claim& claim, double level) {
    const bool enough = claim.demand <= level * claim.weight;
    satisfied += enough ? claim.most : 0.0;
    open += enough ? 0.0 : claim.slope;
    count += enough ? 1 : 0;
  }
};

/// The level L with  sum of factor * min(demand, weight * L) = capacity,  or unlimited if all demands fit. `left`
/// becomes what the satisfied demands leave: for the members at the level, or for lower classes.
///
/// The sum is concave in L, so that a Newton step from anywhere lands at or below the solution and steps from there
/// only rise; each one satisfies at least one more member or is the last. `guess`, the level so far, saves steps; the
/// result depends on the satisfied members alone.
double FluidSystem::fill(std::span<const Claim> claims, double capacity, double guess, double& left) {
  double total = 0;
  double slope = 0;
  Fill now;
  for (const Claim& claim : claims) {
    total += claim.most;
    slope += claim.slope;
    now.add(claim, guess);
  }
  if (total <= capacity * (1 + kRounding)) {
    left = std::max(0.0, capacity - total);
    return kUnlimited;
  }
  if (now.count == claims.size() || now.satisfied >= capacity) now = {0, slope, 0};
  for (bool rising = false;; rising = true) {
    left = std::max(0.0, capacity - now.satisfied);
    const double level = left / now.open;
    Fill next;
    for (const Claim& claim : claims) next.add(claim, level);
    const bool last = next.count == now.count || (rising && next.count < now.count) || next.count == claims.size();
    if (last) return level;
    now = next;
  }
}

void FluidSystem::report_changes() {
  changed_.clear();
  for (const std::uint32_t index : touched_) {
    Flow& flow = flows_[index];
    flow.touched = false;
    if (!flow.alive || std::abs(flow.target - flow.rate) <= tolerance_ * flow.rate) continue;
    flow.rate = flow.target;
    changed_.push_back({index});
  }
  touched_.clear();
}

}  // namespace cortado::sim
