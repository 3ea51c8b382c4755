#include "sim/fluid/solver.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.hpp"
#include "sim/fluid/rounding.hpp"

namespace cortado::sim::internal {

namespace {

constexpr std::size_t kFewMembers = 4;
constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

}  // namespace

Solver::Solver(const FluidOptions& options)
    : priority_classes_(options.priority_classes),
      exact_(options.mode == SharingMode::exact),
      tolerance_(exact_ ? kSumRounding : options.tolerance) {}

std::uint32_t Solver::add_resource(double capacity) {
  Resource& resource = resources_.emplace_back();
  resource.capacity = capacity;
  resource.slack = tolerance_ * capacity;
  levels_.insert(levels_.end(), priority_classes_, kNoLevel);
  return static_cast<std::uint32_t>(resources_.size() - 1);
}

void Solver::set_capacity(std::uint32_t index, double capacity) {
  Resource& resource = resources_[index];
  resource.capacity = capacity;
  if (!resource.limiting) resource.slack = tolerance_ * capacity;
  if (resource.members.size() == 1) {
    refresh_limit(flows_[resource.members[0].flow]);
    retarget(resource.members[0].flow);
  } else if (!resource.followed) {
    add_to_bound(index, 0);
  } else if (off_balance(resource)) {
    enqueue(index);
  }
}

std::uint32_t Solver::take_flow() {
  if (free_flows_.empty()) {
    flows_.emplace_back();
    return static_cast<std::uint32_t>(flows_.size() - 1);
  }
  const std::uint32_t index = free_flows_.back();
  free_flows_.pop_back();
  return index;
}

/// Each resource once, with the sum of its factors.
std::span<const ResourceUse> Solver::distinct(std::span<const ResourceUse> uses) {
  distinct_.clear();
  for (const ResourceUse& use : uses) {
    const auto same =
        std::find_if(distinct_.begin(), distinct_.end(), [&](const auto& d) { return d.resource == use.resource; });
    if (same == distinct_.end()) {
      distinct_.push_back(use);
    } else {
      same->factor += use.factor;
    }
  }
  return distinct_;
}

std::uint32_t Solver::add_flow(const FlowSpec& spec) {
  const auto uses = spec.distinct ? spec.uses : distinct(spec.uses);
  const std::uint32_t index = take_flow();
  Flow& flow = flows_[index];
  flow = {.weight = spec.weight,
          .cap = spec.cap,
          .first_use = uses_.take(uses.size()),
          .use_count = static_cast<std::uint16_t>(uses.size()),
          .priority = spec.priority,
          .alive = true,
          .touched = flow.touched};
  for (std::size_t i = 0; i < uses.size(); ++i) {
    uses_.of(flow)[i] = {uses[i].factor, uses[i].resource.value, 0};
    join(index, i);
  }
  refresh_limit(flow);
  retarget(index);
  return index;
}

void Solver::remove_flow(std::uint32_t index) {
  Flow& flow = flows_[index];
  flow.alive = false;
  for (std::size_t i = 0; i < flow.use_count; ++i) leave(index, i);
  uses_.release(flow.first_use, flow.use_count);
  free_flows_.push_back(index);
}

void Solver::join(std::uint32_t index, std::size_t use_index) {
  Flow& flow = flows_[index];
  Use& use = uses_.of(flow)[use_index];
  std::vector<Claim>& members = resources_[use.resource].members;
  use.place = static_cast<std::uint32_t>(members.size());
  if (members.capacity() == 0) members.reserve(kFewMembers);
  members.push_back({.flow = index, .priority = flow.priority, .factor = use.factor});
  if (members.size() == 1) return;
  if (resources_[use.resource].followed) ++flow.followed;
  if (members.size() == 2) become_shared(members[0].flow, use.resource);
  if (level(use.resource, flow.priority) < kNoLevel) ++flow.levels;
  std::swap(use, uses_.of(flow)[flow.shared_count++]);
}

void Solver::leave(std::uint32_t index, std::size_t use_index) {
  const Flow& flow = flows_[index];
  const Use& use = uses_.of(flow)[use_index];
  Resource& resource = resources_[use.resource];
  if (use_index >= flow.shared_count) {
    resource.members.clear();
    return;
  }
  const std::uint32_t moved = resource.members.back().flow;
  resource.members[use.place] = resource.members.back();
  resource.members.pop_back();
  use_of(moved, use.resource).place = use.place;
  if (resource.members.size() == 1) {
    become_alone(resource.members[0].flow, use.resource);
  } else if (resource.followed) {
    add_load(use.resource, -use.factor * counted(flow));
  } else {
    resource.load -= use.factor * flow.ceiling;
  }
}

Use& Solver::use_of(std::uint32_t flow, std::uint32_t resource) {
  const auto uses = uses_.of(flows_[flow]);
  return *std::find_if(uses.begin(), uses.end(), [&](const Use& use) { return use.resource == resource; });
}

/// The resource was a cap of the flow and becomes a shared one.
void Solver::become_shared(std::uint32_t index, std::uint32_t resource) {
  Flow& flow = flows_[index];
  Use& use = use_of(index, resource);
  resources_[resource].load = 0;
  const double bound = use.factor * flow.ceiling;
  std::swap(use, uses_.of(flow)[flow.shared_count++]);
  add_to_bound(resource, bound);
  refresh_limit(flow);
  retarget(index);
}

/// The resource was shared and becomes a cap of the one flow that is left.
void Solver::become_alone(std::uint32_t index, std::uint32_t resource_index) {
  Resource& resource = resources_[resource_index];
  resource.load = 0;
  resource.limiting = false;
  resource.slack = tolerance_ * resource.capacity;
  Flow& flow = flows_[index];
  if (std::exchange(resource.followed, false)) --flow.followed;
  if (level(resource_index, flow.priority) < kNoLevel) --flow.levels;
  std::fill_n(&level(resource_index, 0), priority_classes_, kNoLevel);
  std::swap(use_of(index, resource_index), uses_.of(flow)[--flow.shared_count]);
  refresh_limit(flow);
  retarget(index);
}

void Solver::refresh_limit(Flow& flow) {
  flow.limit = flow.cap;
  for (const Use& use : uses_.alone(flow)) {
    flow.limit = std::min(flow.limit, resources_[use.resource].capacity / use.factor);
  }
  for (const Use& use : uses_.shared(flow)) {
    claim(resources_[use.resource].members[use.place], flow, flow.limit);
  }
}

/// The member's claim if everything else allows the flow this rate.
void Solver::claim(Claim& member, const Flow& flow, double demand) {
  member.demand = demand;
  member.weight = flow.weight;
  member.ratio = demand / flow.weight;
  member.most = member.factor * demand;
  member.slope = member.factor * flow.weight;
}

void Solver::set_cap(std::uint32_t index, double cap) {
  flows_[index].cap = cap;
  refresh_limit(flows_[index]);
  retarget(index);
}

void Solver::set_weight(std::uint32_t index, double weight) {
  Flow& flow = flows_[index];
  flow.weight = weight;
  refresh_limit(flow);
  retarget(index);
}

double Solver::load(std::uint32_t index) const {
  const Resource& resource = resources_[index];
  return resource.followed ? resource.load : exact_load(resource);
}

std::optional<ResourceId> Solver::bottleneck(std::uint32_t index) const {
  const Flow& flow = flows_[index];
  double least = flow.cap;
  std::optional<ResourceId> found;
  const auto consider = [&](const Use& use, double limit) {
    if (limit >= least) return;
    least = limit;
    found = ResourceId{use.resource};
  };
  for (const Use& use : uses_.shared(flow)) consider(use, flow.weight * level(use.resource, flow.priority));
  for (const Use& use : uses_.alone(flow)) consider(use, resources_[use.resource].capacity / use.factor);
  return found;
}

/// The rate that the flow's limit and the levels of its resources allow, leaving out one resource.
inline double Solver::offered(const Flow& flow, std::uint32_t except) const {
  double rate = flow.limit;
  for (const Use& use : uses_.shared(flow)) {
    if (use.resource != except) rate = std::min(rate, flow.weight * level(use.resource, flow.priority));
  }
  return rate;
}

void Solver::retarget(std::uint32_t index) {
  const double target = offered(flows_[index], kNone);
  if (target < kNoLevel) {
    set_target(index, target, kNone);
  } else {
    set_target(index, 0, kNone);
    flows_[index].target = kUnanchored;
    unanchored_.push_back(index);
  }
}

/// The loads of the resources that the flow shares follow, except that of one that is being balanced.
inline void Solver::set_target(std::uint32_t index, double target, std::uint32_t except) {
  Flow& flow = flows_[index];
  const double before = flow.target;
  flow.target = target;
  if (!flow.touched) {
    flow.touched = true;
    touched_.push_back(index);
  }
  const bool followed_elsewhere = flow.followed > (except == kNone ? 0 : 1);
  if (followed_elsewhere || target > flow.ceiling) spread(flow, target - std::max(before, 0.0), except);
}

/// Gives a flow that nothing limits yet a first level: that of the resource most likely to limit it in the end.
void Solver::force_tightest(const Flow& flow) {
  double least = kNoLevel;
  std::uint32_t tightest = kNone;
  for (const Use& use : uses_.of(flow)) {
    const Resource& resource = resources_[use.resource];
    const double share = resource.capacity / (use.factor * static_cast<double>(resource.members.size()));
    if (share < least) {
      least = share;
      tightest = use.resource;
    }
  }
  resources_[tightest].forced = true;
  enqueue(tightest);
}

std::span<const RateChange> Solver::solve() {
  ++work_.solves;
  for (const std::uint32_t index : unanchored_) {
    if (flows_[index].alive && flows_[index].target < 0) force_tightest(flows_[index]);
  }
  unanchored_.clear();
  const std::size_t most_sweeps = 1000 + 100 * resources_.size();
  for (std::size_t sweeps = 0; !queue_.empty(); ++sweeps) {
    CORTADO_CHECK(sweeps < most_sweeps, "the levels of a fluid system do not settle");
    sweep_.swap(queue_);
    for (const std::uint32_t index : sweep_) {
      Resource& resource = resources_[index];
      resource.queued = false;
      const bool due = resource.forced || off_balance(resource);
      resource.forced = false;
      if (due && resource.members.size() > 1) balance(index);
    }
    sweep_.clear();
  }
  return report_changes();
}

/// What the member claims, given the levels of all resources that the flow shares.
inline Claim Solver::claim_of(const Claim& member, std::uint32_t index) const {
  const Flow& flow = flows_[member.flow];
  const bool limited_elsewhere = flow.target >= 0 && member.weight * level(index, member.priority) > flow.target;
  Claim result = member;
  claim(result, flow, limited_elsewhere ? flow.target : offered(flow, index));
  return result;
}

/// By descending priority; within a class, in the order of the members. Valid until the next call.
std::span<const Claim> Solver::gather_claims(std::uint32_t index) {
  const std::vector<Claim>& members = resources_[index].members;
  const double* const levels = &level(index, 0);
  const auto at_level_elsewhere = [&](const Claim& member) {
    return flows_[member.flow].levels > (levels[member.priority] < kNoLevel ? 1 : 0);
  };
  const auto differ = [](const Claim& a, const Claim& b) { return a.priority != b.priority; };
  const bool sorted =
      priority_classes_ == 1 || std::adjacent_find(members.begin(), members.end(), differ) == members.end();
  const auto first = std::find_if(members.begin(), members.end(), at_level_elsewhere);
  if (sorted && first == members.end()) return members;
  claims_.assign(members.begin(), members.end());
  for (auto i = static_cast<std::size_t>(first - members.begin()); i < members.size(); ++i) {
    if (at_level_elsewhere(members[i])) claims_[i] = claim_of(members[i], index);
  }
  if (!sorted) {
    std::stable_sort(claims_.begin(), claims_.end(),
                     [](const Claim& a, const Claim& b) { return a.priority > b.priority; });
  }
  return claims_;
}

/// Levels that begin and end to limit: flows count them.
inline void Solver::count_levels(std::span<const Claim> claims, double before, double now) {
  if (before == kNoLevel && now < kNoLevel) {
    for (const Claim& claim : claims) ++flows_[claim.flow].levels;
  } else if (before < kNoLevel && now == kNoLevel) {
    for (const Claim& claim : claims) --flows_[claim.flow].levels;
  }
}

/// Computes the levels of one resource from the rates that its members could have without it, and sets their targets.
void Solver::balance(std::uint32_t index) {
  Resource& resource = resources_[index];
  auto rest = gather_claims(index);
  ++work_.balances;
  work_.flows_visited += rest.size();

  follow(resource, true);
  resource.limiting = false;
  resource.slack = tolerance_ * resource.capacity;
  double load = 0;
  double left = resource.capacity;
  for (std::uint8_t priority = priority_classes_; priority-- > 0;) {
    const auto end =
        priority == 0 ? rest.end()
                      : std::find_if(rest.begin(), rest.end(), [&](const Claim& c) { return c.priority != priority; });
    const auto claims = rest.first(static_cast<std::size_t>(end - rest.begin()));
    rest = rest.subspan(claims.size());

    const double before = level(index, priority);
    double current = 0;
    if (!resource.limiting) {
      const WaterLevel water = water_level(claims, left, before);
      left = water.left;
      current = settled_level(index, priority, water.level);
      resource.limiting = water.level < kNoLevel;
      if (resource.limiting && exact_) resource.slack = std::max(tolerance_ * left, kLevelRounding * resource.capacity);
    }
    level(index, priority) = current;
    count_levels(claims, before, current);
    for (const Claim& claim : claims) {
      const double target = std::min(claim.demand, claim.weight * current);
      load += std::min(claim.most, claim.slope * current);
      if (target != flows_[claim.flow].target) set_target(claim.flow, target, index);
    }
  }
  set_load(index, load);
}

/// The computed level, or the old one if the two differ only by rounding.
double Solver::settled_level(std::uint32_t index, std::uint8_t priority, double computed) const {
  const double current = level(index, priority);
  const bool same =
      current < kNoLevel && computed < kNoLevel && std::abs(computed - current) <= kLevelRounding * computed;
  return same ? current : computed;
}

std::span<const RateChange> Solver::report_changes() {
  if (changed_.size() < touched_.size()) changed_.resize(touched_.size());  // and never less: resizing initialises
  std::size_t count = 0;
  for (const std::uint32_t index : touched_) {
    Flow& flow = flows_[index];
    flow.touched = false;
    if (!flow.alive || std::abs(flow.target - flow.rate) <= tolerance_ * flow.rate) continue;
    flow.rate = flow.target;
    changed_[count++] = {{index}, flow.rate};
  }
  touched_.clear();
  return std::span(changed_).first(count);
}

}  // namespace cortado::sim::internal
