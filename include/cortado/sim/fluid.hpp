// Sharing of rates: many flows, each of which needs several resources at once, and resources of limited capacity.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "cortado/base/units.hpp"

namespace cortado::sim {

using ResourceId = Id<struct ResourceTag>;  ///< dense, in the order of add_resource
using FlowId = Id<struct FlowTag>;          ///< dense; the id of a removed flow is given to a later one

/// One unit of the flow's rate takes `factor` units of the resource's capacity.
struct ResourceUse {
  ResourceId resource;
  double factor = 1;
};

inline constexpr double kUnlimited = std::numeric_limits<double>::infinity();

struct FlowSpec {
  std::span<const ResourceUse> uses{};  ///< a resource named twice counts with the sum of its factors
  double weight = 1;                    ///< positive
  double cap = kUnlimited;              ///< not negative; finite if there are no uses
  std::uint8_t priority = 0;            ///< greater is served first; below FluidOptions::priority_classes
};

enum class SharingMode {
  exact,  ///< equations (1) and (2) hold up to rounding
  local,  ///< they hold within FluidOptions::tolerance; a change stops where its effect is smaller than that
};

struct FluidOptions {
  SharingMode mode = SharingMode::exact;
  double tolerance = 0.01;  ///< for SharingMode::local; in (0, 0.1]
  std::uint8_t priority_classes = 4;
};

/// How much work the solver has done since its construction.
struct FluidWork {
  std::uint64_t solves = 0;
  std::uint64_t balances = 0;       ///< how often the level of a resource was computed
  std::uint64_t flows_visited = 0;  ///< flows looked at in doing so
};

class FluidSystem {
 public:
  explicit FluidSystem(FluidOptions options = {});

  /// `capacity` is finite and not negative.
  ResourceId add_resource(double capacity);
  void set_capacity(ResourceId resource, double capacity);

  /// The rate of a new flow is 0 until solve().
  FlowId add_flow(const FlowSpec& spec);
  void remove_flow(FlowId flow);
  void set_cap(FlowId flow, double cap);
  void set_weight(FlowId flow, double weight);

  /// Brings all rates up to date with the changes made since the last call, however many, and returns the flows whose
  /// rate is not what it was, each once. The span is valid until the next call of solve().
  std::span<const FlowId> solve();

  /// As of the last solve().
  double rate(FlowId flow) const { return flows_[flow.value].rate; }
  /// The resource that keeps the flow from being faster; none if it is at its cap. As of the last solve().
  std::optional<ResourceId> bottleneck(FlowId flow) const;
  double capacity(ResourceId resource) const { return resources_[resource.value].capacity; }
  /// The sum of factor times rate over its flows. As of the last solve().
  double load(ResourceId resource) const { return resources_[resource.value].load; }
  std::size_t flow_count(ResourceId resource) const { return resources_[resource.value].members.size(); }
  /// Flows added and not removed.
  std::size_t flow_count() const { return flow_count_; }
  const FluidWork& work() const { return work_; }

 private:
  struct Use {
    std::uint32_t resource;
    std::uint32_t place;  // in the members of the resource
    double factor;
  };
  struct Member {
    std::uint32_t flow;
    std::uint32_t use;  // index into uses_
    double factor;
  };
  struct Flow {
    double weight = 1;
    double cap = 0;
    double target = 0;  // what levels and cap give it; counted in the loads
    double rate = 0;    // what the caller was told
    std::uint32_t first_use = 0;
    std::uint8_t use_count = 0;
    std::uint8_t priority = 0;
    bool alive = false;
    bool anchored = false;  // has a target; until then the flow is not counted in the loads
    bool touched = false;   // stands in touched_
  };
  struct Resource {
    double capacity = 0;
    double load = 0;
    double slack = 0;       // how far the load may be from the capacity (if limiting) or above it (if not)
    bool limiting = false;  // some member could be faster but for this resource
    bool queued = false;
    bool forced = false;      // to be balanced whatever the load is
    std::uint16_t moves = 0;  // changes of the load since it was summed up
    std::vector<Member> members;
  };
  /// What a member asks of a resource.
  struct Claim {
    double demand;  // the rate the rest of the system would let it have
    double weight;
    double factor;
    double most;   // factor * demand
    double slope;  // factor * weight
    std::uint32_t flow;
    std::uint8_t priority;
  };
  struct Fill;

  static constexpr std::size_t kMaxUses = 64;

  std::span<Use> uses_of(const Flow& flow) { return {uses_.data() + flow.first_use, flow.use_count}; }
  std::span<const Use> uses_of(const Flow& flow) const { return {uses_.data() + flow.first_use, flow.use_count}; }
  double& level(std::uint32_t resource, std::uint8_t priority);
  double level(std::uint32_t resource, std::uint8_t priority) const;
  Flow& living(FlowId flow);

  double offered(const Flow& flow, std::uint32_t except) const;
  void retarget(std::uint32_t flow);
  void set_target(std::uint32_t flow, double target, std::uint32_t except);
  void add_load(std::uint32_t resource, double amount);
  void enqueue_if_off(std::uint32_t resource);
  bool off_balance(const Resource& resource) const;
  void force_tightest(const Flow& flow);
  void balance(std::uint32_t resource);
  void gather_claims(std::uint32_t resource);
  static double fill(std::span<const Claim> claims, double capacity, double guess, double& left);
  void report_changes();

  FluidOptions options_;
  double tolerance_;
  FluidWork work_;
  std::size_t flow_count_ = 0;
  std::vector<Resource> resources_;
  std::vector<double> levels_;  // priority_classes per resource
  std::vector<Flow> flows_;
  std::vector<std::uint32_t> free_flows_;
  std::vector<Use> uses_;
  std::array<std::vector<std::uint32_t>, kMaxUses + 1> free_uses_;  // by number of uses
  std::vector<std::uint32_t> unanchored_;
  std::vector<std::uint32_t> touched_;
  std::vector<std::uint32_t> queue_;  // resources to balance after those in sweep_
  std::vector<std::uint32_t> sweep_;
  std::vector<Claim> claims_;
  std::vector<FlowId> changed_;
};

}  // namespace cortado::sim
