// Sharing of rates: many flows, each of which needs several resources at once, and resources of limited capacity.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>

#include "cortado/base/units.hpp"

namespace cortado::sim {

namespace internal {
class Solver;
}

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
  FluidSystem(FluidSystem&&) noexcept;
  FluidSystem& operator=(FluidSystem&&) noexcept;
  ~FluidSystem();

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
  double rate(FlowId flow) const;
  /// The resource that keeps the flow from being faster; none if it is at its cap. As of the last solve().
  std::optional<ResourceId> bottleneck(FlowId flow) const;
  double capacity(ResourceId resource) const;
  /// The sum of factor times rate over its flows. As of the last solve().
  double load(ResourceId resource) const;
  std::size_t flow_count(ResourceId resource) const;
  /// Flows added and not removed.
  std::size_t flow_count() const;
  const FluidWork& work() const;

 private:
  std::uint32_t checked(ResourceId resource) const;
  std::uint32_t checked(FlowId flow) const;

  std::unique_ptr<internal::Solver> solver_;
};

}  // namespace cortado::sim
