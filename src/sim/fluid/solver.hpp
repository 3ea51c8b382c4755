// The data and the algorithm behind FluidSystem. Arguments have been checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "sim/fluid/fluid.hpp"
#include "sim/fluid/water_level.hpp"

namespace cortado::sim::internal {

/// A flow's use of a resource. A resource with one member is just a cap: it has no level, and its load is not tracked.
/// The uses of a flow are in two groups: first the resources that it shares, then those that it has to itself.
struct Use {
  double factor = 1;
  std::uint32_t resource = 0;
  std::uint32_t place = 0;  ///< among the members of the resource
};

// The target of a flow that no cap and no level limits yet. It counts as zero in the loads.
inline constexpr double kUnanchored = -1;

struct Flow {
  double weight = 1;
  double cap = 0;
  double limit = 0;             ///< the minimum of its cap and of what the resources that it has to itself allow
  double rate = 0;              ///< as last reported to the caller
  double target = kUnanchored;  ///< what limit and levels give it
  double ceiling = 0;           ///< not less than the target
  std::uint32_t first_use = 0;
  std::uint16_t use_count = 0;
  std::uint16_t shared_count = 0;
  std::uint16_t levels = 0;    ///< how many of the resources that it shares have a level for its class
  std::uint16_t followed = 0;  ///< how many of the resources that it shares are followed
  std::uint8_t priority = 0;
  bool alive = false;
  bool touched = false;  ///< is in Solver::touched_
};

/// The load of a resource that limits somebody, or might soon, is followed: it is the sum of factor * target over the
/// members. Any other resource has an upper bound instead, the sum of factor * ceiling, which most changes of a target
/// leave as it is.
struct Resource {
  double capacity = 0;
  double load = 0;
  double slack = 0;            ///< how far the load may be off
  bool limiting = false;       ///< some member would be faster without this resource
  bool followed = false;       ///< always if limiting; never with a single member
  bool queued = false;         ///< is in Solver::queue_
  bool forced = false;         ///< must be balanced whatever its load
  std::uint8_t moves = 0;      ///< corrections of a followed load since it was summed up
  std::vector<Claim> members;  ///< as if no other resource had a level: demand is the limit of the flow
};

/// Lists of Use in one vector, in blocks; freed blocks are reused.
class UsePool {
 public:
  static constexpr std::size_t kMaxUses = 512;

  std::uint32_t take(std::size_t count);
  void release(std::uint32_t first, std::size_t count) { free_[count].push_back(first); }  // the block was taken before

  Use& operator[](std::size_t index) { return uses_[index]; }
  std::span<Use> of(const Flow& flow) { return {uses_.data() + flow.first_use, flow.use_count}; }
  std::span<const Use> of(const Flow& flow) const { return {uses_.data() + flow.first_use, flow.use_count}; }
  std::span<const Use> shared(const Flow& flow) const { return {uses_.data() + flow.first_use, flow.shared_count}; }
  std::span<const Use> alone(const Flow& flow) const { return of(flow).subspan(flow.shared_count); }

 private:
  std::vector<Use> uses_;
  std::vector<std::vector<std::uint32_t>> free_;  // by number of uses, up to the greatest number taken so far
};

class Solver {
 public:
  explicit Solver(const FluidOptions& options);

  std::uint32_t add_resource(double capacity);
  void set_capacity(std::uint32_t resource, double capacity);
  std::uint32_t add_flow(const FlowSpec& spec);
  void remove_flow(std::uint32_t flow);
  void set_cap(std::uint32_t flow, double cap);
  void set_weight(std::uint32_t flow, double weight);
  std::span<const RateChange> solve();

  const Flow& flow(std::uint32_t index) const { return flows_[index]; }
  const Resource& resource(std::uint32_t index) const { return resources_[index]; }
  std::uint8_t priority_classes() const { return priority_classes_; }
  std::size_t flow_slots() const { return flows_.size(); }
  std::size_t flow_count() const { return flows_.size() - free_flows_.size(); }
  std::size_t resource_count() const { return resources_.size(); }
  const FluidWork& work() const { return work_; }
  double load(std::uint32_t resource) const;
  std::optional<ResourceId> bottleneck(std::uint32_t flow) const;

 private:
  double& level(std::uint32_t resource, std::uint8_t priority) {
    return levels_[std::size_t{resource} * priority_classes_ + priority];
  }
  double level(std::uint32_t resource, std::uint8_t priority) const {
    return levels_[std::size_t{resource} * priority_classes_ + priority];
  }
  static double counted(const Flow& flow) { return flow.target > 0 ? flow.target : 0; }

  std::uint32_t take_flow();
  std::span<const ResourceUse> distinct(std::span<const ResourceUse> uses);
  void join(std::uint32_t flow, std::size_t use);
  void leave(std::uint32_t flow, std::size_t use);
  void become_shared(std::uint32_t flow, std::uint32_t resource);
  void become_alone(std::uint32_t flow, std::uint32_t resource);
  Use& use_of(std::uint32_t flow, std::uint32_t resource);
  void refresh_limit(Flow& flow);
  static void claim(Claim& member, const Flow& flow, double demand);
  double offered(const Flow& flow, std::uint32_t except) const;
  void retarget(std::uint32_t flow);
  void set_target(std::uint32_t flow, double target, std::uint32_t except);
  bool off_balance(const Resource& resource) const {
    const double excess = resource.load - resource.capacity;
    return excess > resource.slack || (resource.limiting && excess < -resource.slack);
  }
  void enqueue(std::uint32_t resource) {
    if (resources_[resource].queued) return;
    resources_[resource].queued = true;
    queue_.push_back(resource);
  }
  void force_tightest(const Flow& flow);
  std::span<const Claim> gather_claims(std::uint32_t resource);
  Claim claim_of(const Claim& member, std::uint32_t resource) const;
  void count_levels(std::span<const Claim> claims, double before, double now);
  void balance(std::uint32_t resource);
  double settled_level(std::uint32_t resource, std::uint8_t priority, double computed) const;
  std::span<const RateChange> report_changes();

  // In loads.cpp.
  /// Updates the loads and bounds of the resources that the flow shares, leaving out one, after a change of its target.
  void spread(Flow& flow, double change, std::uint32_t except);
  void add_load(std::uint32_t resource, double amount);      ///< of a resource that is followed
  void add_to_bound(std::uint32_t resource, double amount);  ///< of one that is not
  double exact_load(const Resource& resource) const;
  void set_load(std::uint32_t resource, double load);  ///< the exact load; decides whether it is followed
  void follow(Resource& resource, bool yes);           ///< its load is to be set afterwards
  void lower_ceiling(Flow& flow);

  std::uint8_t priority_classes_;
  bool exact_;
  double tolerance_;
  FluidWork work_;
  std::vector<Resource> resources_;
  std::vector<double> levels_;  // priority_classes_ for each resource
  std::vector<Flow> flows_;
  std::vector<std::uint32_t> free_flows_;
  UsePool uses_;
  std::vector<std::uint32_t> unanchored_;  // flows that nothing limits yet
  std::vector<std::uint32_t> touched_;     // flows whose target was set since the last solve
  std::vector<std::uint32_t> queue_;       // resources to balance after those in sweep_
  std::vector<std::uint32_t> sweep_;
  std::vector<Claim> claims_;  // scratch space of gather_claims
  std::vector<ResourceUse> distinct_;
  std::vector<RateChange> changed_;  // scratch space of report_changes
};

}  // namespace cortado::sim::internal
